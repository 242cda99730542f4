"""A class of few origins: its clusters are its origins, within time and memory that are known."""

import itertools
import resource
import time
from pathlib import Path

import pytest

pytest.importorskip("copydetect", reason="needs the extra course")

from stand_ins.classroom import frozen
from stand_ins.copied_class import CopiedClass, copied_class

from grader.course.likeness.similarity import Comparison, compare_class
from grader.labs.lab import find_lab

ROOT = Path(__file__).resolve().parents[3]
COUNT = 296
KIB = 1 << 10
CACHE = find_lab("5", ROOT)
# By file; what was made from another answer of ours is of one origin with it.
ORIGINS = {
    "kv_cache.py": "model",
    "doubling_and_chunks.py": "doubling",
    "every_token_enters.py": "every",
    "lists_and_einsum.py": "lists",
    "logarithms.py": "lists",
    "one_token_at_a_time.py": "one",
    "tokens_first_and_iterators.py": "tokens",
}


def origins() -> dict[str, str]:
    files = [CACHE.solutions / CACHE.code_name, *(CACHE.solutions / "variants").glob("*.py")]
    return {file.name: file.read_text() for file in files if file.name in ORIGINS}


def pairs_of(groups: list[list[str]]) -> set[tuple[str, str]]:
    return {pair for group in groups for pair in itertools.combinations(sorted(group), 2)}


def quality(made: CopiedClass, found: Comparison) -> tuple[float, float]:
    """Precision and recall of pairs in one cluster, measured by pairs of one origin."""
    origin = {student: ORIGINS[file] for student, file in made.origins.items()}
    true = pairs_of([[s for s in origin if origin[s] == name] for name in {*origin.values()}])
    told = pairs_of([[*cluster.students] for cluster in found.clusters])
    return len(true & told) / len(told), len(true & told) / len(true)


def test_a_class_of_few_origins_has_as_many_clusters(tmp_path: Path) -> None:
    made = copied_class(CACHE, tmp_path, origins(), COUNT)
    began = time.process_time()

    found = compare_class(CACHE, made.frozen, tmp_path)

    seconds = time.process_time() - began
    precision, recall = quality(made, found)
    pairs = sum(item.is_student for item in found.found)
    print(f"{pairs} pairs, {len(found.clusters)} clusters, {precision=}, {recall=}, {seconds=:.1f}")
    assert len(found.clusters) == len({*ORIGINS.values()}) == 6
    assert pairs > 7000
    assert precision > 0.98
    assert recall > 0.98
    assert all(cluster.sources for cluster in found.clusters)
    assert seconds < 60


def test_answers_written_apart_are_in_no_cluster_beside_copies(tmp_path: Path) -> None:
    own = origins()
    copied = {"every_token_enters.py": own["every_token_enters.py"]}
    made = copied_class(CACHE, tmp_path, copied, 6)
    for name in ("kv_cache.py", "doubling_and_chunks.py", "one_token_at_a_time.py"):
        (tmp_path / name).mkdir()
        (tmp_path / name / CACHE.code_name).write_text(own[name])
    apart = [frozen(name, name) for name in own if (tmp_path / name).is_dir()]

    found = compare_class(CACHE, [*made.frozen, *apart], tmp_path)

    assert sorted(len(cluster.students) for cluster in found.clusters) == [1, 1, 1, 6]


def idiom(at: int) -> str:
    return (
        f"def same_{at}(a, b):\n    return [a[{at}] + b * {at} for a in range(b, {at})] or {{}}\n"
    )


def own(number: int) -> str:
    """Code that is one student's, by its numbers."""
    return "\n".join(
        f"def f{at}(x):\n    return {number}{at} * x - {at}{number} + x % {number + at * 7}\n"
        for at in range(30)
    )


def test_what_most_wrote_alike_is_nobodys(tmp_path: Path) -> None:
    same = "\n".join(map(idiom, range(12, 22)))
    texts = {f"s{at}": f"{own(at)}\n{same}" for at in range(12)} | {"thief": f"{own(3)}\n{same}"}
    for name, text in texts.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / CACHE.code_name).write_text(text)

    [alone] = compare_class(CACHE, [frozen(name, name) for name in ("s3", "thief")], tmp_path).found
    [found] = compare_class(CACHE, [frozen(name, name) for name in texts], tmp_path).found

    assert (found.student, found.other) == ("s3", "thief")
    assert found.highest == alone.highest == 1.0
    assert 0.5 * alone.tokens < found.tokens < 0.9 * alone.tokens


HOSTILE = {
    "a periodic file": "a = f(b, 1)\n" * 8_000,
    "one token": "a " * 30_000,
    "one line": "x" * 250_000,
    "brackets": "[" * 30_000,
    "deep": "".join(f"{' ' * depth}if x:\n" for depth in range(600)),
    "zeros": "\0" * 250_000,
    "lines": "\n" * 250_000 + "x",
}


@pytest.mark.in_turn
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_copies_take_bounded_memory(name: str, tmp_path: Path) -> None:
    students = [f"s{at}" for at in range(4)]
    for student in students:
        (tmp_path / student).mkdir()
        (tmp_path / student / CACHE.code_name).write_text(HOSTILE[name])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    found = compare_class(CACHE, [frozen(name, name) for name in students], tmp_path)

    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 400 * KIB
    assert found.students + len(found.left_out) == 4
    assert found.found == []


def test_a_long_answer_is_compared_in_part_and_said_to_be(tmp_path: Path) -> None:
    text = "\n".join(f"value_{at} = f({at}, {at * at})" for at in range(5000))
    for student in ("ada", "bob"):
        (tmp_path / student).mkdir()
        (tmp_path / student / CACHE.code_name).write_text(text)

    found = compare_class(CACHE, [frozen("ada", "ada"), frozen("bob", "bob")], tmp_path)

    assert [line.partition(" of ")[0] for line in found.told] == [
        f"{student}: only the first 65,536" for student in ("ada", "bob")
    ]
    assert [(item.student, item.other) for item in found.found] == [("ada", "bob")]


def test_confusable_letters_hide_nothing(tmp_path: Path) -> None:
    code = origins()["every_token_enters.py"]
    cyrillic = str.maketrans("aeopcx", "аеорсх")  # noqa: RUF001 - which look the same
    other = code.replace("self.", "sеlf.").replace("keys", "keys".translate(cyrillic))  # noqa: RUF001
    for student, text in (("ada", code), ("bob", other)):
        (tmp_path / student).mkdir()
        (tmp_path / student / CACHE.code_name).write_text(text)

    found = compare_class(CACHE, [frozen("ada", "ada"), frozen("bob", "bob")], tmp_path)

    assert [item.share > 0.8 for item in found.found if item.is_student] == [True]
