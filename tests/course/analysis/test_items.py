"""Item analysis: who failed what, told what, how telling it is, and what only hidden tests saw."""

import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("sqlalchemy", reason='needs the extra "course"')

from stand_ins.classroom import LAB, after, attempt, course, report

from grader.course.analysis.items import Gap, Item, Key, Kind, gaps_of, items_of
from grader.course.database.records import Attempt, Student
from grader.course.gradebook.gradebook import Gradebook
from grader.course.gradebook.marks import mark

NAMES = [f"s{number:02}" for number in range(12)]


def book_of(folder: Path, attempts: Mapping[str, Sequence[Attempt]]) -> Gradebook:
    students = [Student(name, name, "", "") for name in attempts]
    rules = course(folder)
    return Gradebook(
        course=rules,
        students=students,
        labs=[LAB],
        marks={(n, LAB): mark(given, [], rules, n, LAB) for n, given in attempts.items()},
        frozen={},
        attempts={(name, LAB): given for name, given in attempts.items()},
        likenesses=[],
        handed_in=frozenset({LAB}),
        titles={},
        remarks={},
    )


def graded(
    student: str, verdicts: Mapping[str, str], message: str = "1 is not 2\nmore", **given: Any
) -> Attempt:
    made = report(verdicts, message)
    return attempt(student, made["score"], report=made, **given)


def items(folder: Path, attempts: Mapping[str, Sequence[Attempt]]) -> dict[Key, Item]:
    return {item.key: item for item in items_of(book_of(folder, attempts), LAB)}


def a_test(name: str, task: str = "norm") -> Key:
    return Key(Kind.TEST, task, f"test_{task}/{name}")


def test_a_test_is_one_item_whatever_it_was_tried_with(tmp_path: Path) -> None:
    verdicts = {"norm/a[1]": "passed", "norm/a[2]": "failed", "norm/a[3]": "timeout"}
    verdicts |= {"norm/b": "passed", "rope/c": "skipped", "rope/d": "infra"}
    found = items(tmp_path, {"ada": [graded("ada", verdicts)], "bob": []})

    assert {*found} == {a_test("a"), a_test("b")}
    assert found[a_test("a")].missed == {"ada": "1 is not 2"}
    assert found[a_test("a")].told == ("1 is not 2", 1)
    assert (found[a_test("b")].passed, found[a_test("b")].rate) == (["ada"], 1.0)


def test_most_failed_come_first_and_the_usual_word_is_told(tmp_path: Path) -> None:
    given = {
        name: [graded(name, {"norm/a": "passed", "norm/b": "failed"}, said)]
        for name, said in (
            ("ada", "too small"),
            ("bob", "got 0.5, not 1e-3"),
            ("cyd", "got -12, not 7"),
        )
    }
    first, second = items_of(book_of(tmp_path, given), LAB)

    assert (first.key, second.key) == (a_test("b"), a_test("a"))
    assert (first.tried, first.rate, first.told) == (3, 0.0, ("got 0.5, not 1e-3", 2))
    assert first.discrimination is None  # of three students nothing is said


def test_only_what_counts_is_counted_and_time_runs_from_the_first_attempt(tmp_path: Path) -> None:
    tries = [
        graded("ada", {"norm/a": "failed", "norm/b": "passed"}, commit="1", submitted=after(-9)),
        graded("ada", {"norm/a": "passed", "norm/b": "passed"}, commit="3", submitted=after(-2)),
        # Recorded last, and handed in between the two.
        graded("ada", {"norm/a": "failed", "norm/b": "failed"}, commit="2", submitted=after(-5)),
    ]
    found = items(tmp_path, {"ada": tries})

    assert found[a_test("a")].passed == ["ada"]
    assert found[a_test("a")].hours == [7.0]
    assert found[a_test("b")].hours == [0.0]
    assert found[a_test("a")].median_hours == 7.0


def contracts(student: str, states: Mapping[int, str], failing: int = 0) -> Attempt:
    made = report({"norm/a": "failed" if failing else "passed"}, "no mean")
    made["tests"][0]["contract"] = failing
    made["contracts"] = [
        {"number": n, "task": "norm", "says": f"promise {n}", "state": state, "points": 1.0}
        for n, state in states.items()
    ]
    return attempt(student, report=made)


def test_contracts_are_items_with_what_they_promise(tmp_path: Path) -> None:
    given = {
        "ada": [contracts("ada", {1: "holds", 2: "holds", 3: "untried"})],
        "bob": [contracts("bob", {1: "holds", 2: "broken", 3: "waiting"}, failing=2)],
    }
    found = {key.name: item for key, item in items(tmp_path, given).items() if not key.name[4:]}

    assert {*found} == {"1", "2"}
    assert (found["1"].says, found["1"].passed) == ("promise 1", ["ada", "bob"])
    assert (found["2"].passed, found["2"].missed) == (["ada"], {"bob": "no mean"})


def test_an_item_that_the_strong_pass_and_the_weak_fail_is_telling(tmp_path: Path) -> None:
    def verdicts(place: int) -> dict[str, str]:
        """``telling`` follows the number of others passed, ``turned`` goes against it."""
        passed = {f"norm/o{n}": n < place for n in range(11)}
        passed |= {"rope/telling": place > 5, "rope/turned": place < 6, "rope/same": True}
        return {name: "passed" if right else "failed" for name, right in passed.items()}

    given = {name: [graded(name, verdicts(place))] for place, name in enumerate(NAMES)}
    found = items(tmp_path, given)

    telling = found[a_test("telling", "rope")].discrimination
    turned = found[a_test("turned", "rope")].discrimination
    others = [sum(v == "passed" for v in verdicts(n).values()) - (n > 5) for n in range(12)]
    assert telling == pytest.approx(statistics.correlation([n > 5 for n in range(12)], others))
    assert telling is not None
    assert turned is not None
    assert telling > 0.7 > 0 > turned
    assert found[a_test("same", "rope")].discrimination is None


def test_what_was_not_begun_or_failed_by_our_fault_is_nobodys_miss(tmp_path: Path) -> None:
    unwritten = graded("ada", {"norm/a": "error"}, "NotImplementedError: task norm: write it")
    ours = graded("bob", {"norm/a": "failed"}, exit_code=3)

    assert items(tmp_path, {"ada": [unwritten], "bob": [ours], "cyd": []}) == {}


def test_gap_between_the_tests_that_students_have_and_the_others(tmp_path: Path) -> None:
    def suites(student: str, public: Sequence[bool], hidden: Sequence[bool]) -> list[Attempt]:
        right = {f"norm/p{n}": good for n, good in enumerate(public)}
        right |= {f"norm/h{n}": good for n, good in enumerate(hidden)}
        made = report({name: "passed" if good else "failed" for name, good in right.items()})
        for test in made["tests"]:
            test["suite"] = "public" if "/p" in test["id"] else "hidden"
        return [attempt(student, report=made)]

    given = {
        "even": suites("even", [True, False], [True, False]),
        "wide": suites("wide", [True, True], [False, True, False, False]),
        "none": suites("none", [True], []),
    }
    found = gaps_of(book_of(tmp_path, given), LAB)

    assert found == [Gap("wide", 1.0, 0.25), Gap("even", 0.5, 0.5)]
    assert found[0].size == 0.75
