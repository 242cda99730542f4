"""Two answers beside each other: what both have, what everybody has, and no markup of theirs."""

import random
import time
from pathlib import Path

import pytest

pytest.importorskip("copydetect", reason="needs the extra course")

from stand_ins.copied_class import dressed

from grader.course.likeness.answers import Answer, Read
from grader.course.likeness.drawn import drawn
from grader.course.likeness.passages import Beside, Line, parts_of
from grader.course.likeness.similarity import compare_two
from grader.errors import UsageError
from grader.labs.lab import find_lab

ROOT = Path(__file__).resolve().parents[3]
LLAMA = find_lab("1", ROOT)
EINSUM, MODULES = (
    (LLAMA.solutions / "variants" / name).read_text() for name in ("einsum.py", "modules.py")
)


def both(one: str, other: str) -> Beside:
    reads = (
        Read(Answer(name, True, Path(name)), name, text)
        for name, text in (("ada", one), ("bob", other))
    )
    return compare_two(LLAMA, *reads)


def share(lines: list[Line]) -> float:
    """How much of the lines that count and were not given is in a passage."""
    own = [line for line in lines if line.text.strip() and not line.published]
    return sum(line.passage > 0 for line in own) / len(own)


def test_a_dressed_up_copy_is_marked_nearly_whole() -> None:
    found = both(EINSUM, dressed(EINSUM, random.Random(3)))

    assert share(list(found.one)) > 0.8
    assert len(found.passages) > 3


def test_answers_written_apart_have_little_marked() -> None:
    found = both(EINSUM, MODULES)

    assert share(list(found.one)) < 0.5


def test_a_passage_has_the_same_number_on_both_sides_and_no_place_twice() -> None:
    found = both(EINSUM, dressed(EINSUM, random.Random(3)))

    for side in ("one", "other"):
        seen = {line.passage for line in getattr(found, side)} - {0}
        assert seen <= set(range(1, len(found.passages) + 1))
        for number, line in enumerate(getattr(found, side), 1):
            if line.passage:
                first, last = getattr(found.passages[line.passage - 1], side)
                assert first <= number <= last


def test_what_everyone_was_given_is_published_and_in_no_passage() -> None:
    stub = LLAMA.stub.read_text()

    found = both(stub, stub)

    assert found.passages == []
    code = [line for line in found.one if line.text.strip()]
    assert all(line.published for line in code)


def test_a_passage_names_the_functions_that_it_is_in() -> None:
    found = both(EINSUM, EINSUM)

    parts = parts_of(found.one, [passage.one for passage in found.passages])

    assert "rms_norm" in parts


@pytest.mark.parametrize(
    "hostile",
    [
        "</table><script>alert(1)</script><img src=x onerror=alert(2)>",
        "\u202egnp.exe",
        "x = '\x00\x1b[2J'",
    ],
)
def test_what_a_student_wrote_is_text(hostile: str) -> None:
    page = "\n".join(drawn(both(f"{EINSUM}\n# {hostile}\n", EINSUM), (hostile, "bob")))

    assert "<script" not in page
    assert "<img" not in page
    assert not {"\u202e", "\x00", "\x1b"} & set(page)


def test_passages_lead_to_the_other_side_and_to_the_next_one() -> None:
    found = both(EINSUM, dressed(EINSUM, random.Random(3)))

    page = "\n".join(drawn(found, ("ada", "bob")))

    for target in (part.split('"')[0] for part in page.split('href="#')[1:]):
        assert f'id="{target}"' in page
    assert 'aria-label="next passage, ' in page
    assert page.count('href="#b1"') == 1


def test_a_long_line_and_a_long_file_are_cut() -> None:
    text = "x = '" + "y" * 5000 + "'\n" + "\n" * 4000

    page = "\n".join(drawn(both(text, EINSUM), ("ada", "bob")))

    assert "y" * 400 not in page
    assert "more lines" in page


PERIODIC = {
    "one token": "a " * 70_000,
    "one line": "value = f(1, 2)\n" * 9_000,
    "few tokens": "x = 1; y = x + 2\n" * 8_000,
    "brackets": "(" * 70_000,
}


@pytest.mark.parametrize("name", PERIODIC)
def test_what_repeats_itself_takes_bounded_time(name: str) -> None:
    began = time.process_time()

    found = both(PERIODIC[name], PERIODIC[name])

    assert time.process_time() - began < 10
    assert len(found.passages) <= 300
    assert found.cut


def test_a_text_that_cannot_be_read_is_told() -> None:
    with pytest.raises(UsageError, match="ada cannot be compared: reading it"):
        both('"' + "\\N{" * 80_000, EINSUM)
