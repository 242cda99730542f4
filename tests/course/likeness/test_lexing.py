"""Code is read for a comparison in a process whose time and memory end, whatever the text is."""

import json
import resource
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("copydetect", reason="needs the extra course")

from copydetect.utils import filter_code
from stand_ins.classroom import frozen

from grader.course.likeness import lexing
from grader.course.likeness.lexing import Part, Unread, significant_parts
from grader.course.likeness.similarity import compare_class
from grader.course.likeness.tokens import significant
from grader.errors import JudgeError
from grader.labs.lab import find_lab

ROOT = Path(__file__).resolve().parents[3]
LLAMA = find_lab("1", ROOT)
SOLUTION = (LLAMA.solutions / "llama.py").read_text()
KIB = 1 << 10
SIZE = 256 * KIB
ESCAPES = '"' + "\\N{" * 80_000  # quadratic in pygments
CHEAP = {
    "blank lines": "\n" * SIZE,
    "blank lines of spaces": "       \n" * (SIZE // 8),
    "blank lines between": "x" + "\n \t\n" * (SIZE // 8) + "y",
    "carriage returns": "\r" * SIZE,
    "form feeds": "\n\x0c" * (SIZE // 2),
    "one line": "x" * SIZE,
    "one line of spaces": " " * (SIZE - 1) + "x",
    "the same line": "value = 1\n" * (SIZE // 10),
    "the same token": "a " * (SIZE // 2),
    "parentheses": "(" * SIZE,
    "NUL": "\0" * SIZE,
    "odd characters": "\ufeff\u2028\u0661" * (SIZE // 8),
    "deep": "".join(f"{' ' * depth}if x:\n" for depth in range(700)),
}


@pytest.mark.parametrize("name", CHEAP)
def test_what_is_monotonous_takes_no_quadratic_time(name: str) -> None:
    text = CHEAP[name]

    quarter, whole = (_seconds(text[: len(text) // parts]) for parts in (4, 1))

    assert whole < 8 * quarter + 0.5  # quadratic would be sixteen times


def _texts(found: Sequence[Part | Unread]) -> list[str]:
    return [part.why if isinstance(part, Unread) else part.text for part in found]


def _seconds(text: str) -> float:
    began = time.process_time()
    significant(text)
    return time.process_time() - began


def test_blank_lines_do_not_count() -> None:
    text, starts = significant("\n \n\nx = 1\n\n \t\n\r\n  \ny = 2\n\n")

    assert text == significant("x = 1\ny = 2\n")[0] == "V=1V=2"
    assert starts == [0, 0, 0, 0, 3, 3, 3, 3, 3, 6, 6]


@pytest.mark.parametrize("file", sorted(LLAMA.solutions.rglob("*.py")), ids=lambda file: file.stem)
def test_what_counts_is_what_counts_for_copydetect(file: Path) -> None:
    lines = [line for line in file.read_text().splitlines() if line.strip()]
    code = "\n".join(lines) + "\n"

    expected = filter_code(code, "x.py", "python")[0].replace("self", "V").replace("cls", "V")
    assert significant(code)[0] == expected


def test_a_text_that_takes_too_long_is_left_out_and_the_others_are_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(lexing, "LIMITS", replace(lexing.LIMITS, cpu_seconds=2))

    found = significant_parts([SOLUTION, ESCAPES, "x = 1\n"])

    why = "reading it needs more than 2 s of processor time"
    assert _texts(found) == [significant(SOLUTION)[0], why, "V=1"]


def test_a_text_that_takes_too_much_memory_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    greedy = (
        "import sys, json; t = sys.stdin.read(); bytearray(len(t) << 20);"
        " print(json.dumps([[text, [0]] for text in json.loads(t)]))"
    )
    monkeypatch.setattr(lexing, "_BOOT", greedy)

    found = significant_parts(["x" * KIB, "x"])

    assert _texts(found) == ["reading it needs more than 512 MiB of memory", "x"]


def test_what_we_hold_does_not_grow_with_what_is_read() -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    significant_parts([CHEAP["parentheses"]])

    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64 * KIB


@pytest.mark.parametrize(
    "reply",
    [
        *([], ["V=1"], [["x" * 99, [0, 0]]], [3], {"0": "x"}, [["V=1", [0, 3]]] * 2),
        *([["V=1", starts]] for starts in ([0], [0, 4], [3, 0], [-1, 3], [0, True], [0.0, 3])),
    ],
)
def test_a_reply_that_was_not_asked_for_is_our_failure(
    reply: Sequence[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lexing, "_BOOT", f"print({json.dumps(reply)!r})")

    with pytest.raises(JudgeError, match="not what was asked for"):
        significant_parts(["x = 1\n"])


def test_a_class_is_compared_but_for_whose_file_meets_a_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lexing, "LIMITS", replace(lexing.LIMITS, cpu_seconds=3))
    for name, code in (("ada", SOLUTION), ("eve", ESCAPES[: SIZE - 1]), ("bob", SOLUTION)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "llama.py").write_text(code)

    found = compare_class(LLAMA, [frozen(name, name) for name in ("ada", "eve", "bob")], tmp_path)

    assert found.left_out == ["eve: reading it needs more than 3 s of processor time"]
    assert found.students == 2
    assert [(x.student, x.other) for x in found.found if x.is_student] == [("ada", "bob")]
