"""What ``make watch`` says of a save."""

from dataclasses import replace

import pytest
from stand_ins.sample_reports import report_of, result

from grader.labs.results import Report, TestResult, Verdict
from grader.report.facts.changes import changes


def named(name: str, task: str, verdict: Verdict = Verdict.PASSED) -> TestResult:
    return replace(result(task, verdict), id=name)


BEGUN = report_of(
    *(named("a", "norm"), named("b", "norm", Verdict.FAILED), named("c", "rope")),
    score={"norm": 5.0, "rope": 20.0, "speed": 70.0},
)


@pytest.mark.parametrize("report", [BEGUN, report_of()])
def test_nothing_is_told_where_nothing_changed(report: Report) -> None:
    assert changes(report, report) == ["since the last save: nothing changed"]


def test_what_was_won_is_told_and_what_is_next() -> None:
    after = report_of(
        *(named("a", "norm"), named("b", "norm"), named("c", "rope", Verdict.ERROR)),
        score={"norm": 10.0, "rope": 0.0, "speed": 70.0},
    )

    assert changes(BEGUN, after) == [
        "since the last save:",
        "  norm: 5 → 10 of 10 points, 1 → 2 of 2 tests",
        "  rope: 20 → 0 of 20 points, 1 → 0 of 1 tests",
        "  rope: passed before and fails now: c",
        "done: norm; next: rope",
    ]


def test_many_tests_that_broke_are_counted() -> None:
    before = report_of(*(named(name, "norm") for name in "abcde"), score={"norm": 10.0})
    after = report_of(*(named(name, "norm", Verdict.FAILED) for name in "abcde"))

    assert changes(before, after)[-1] == "  norm: passed before and fails now: a, b, c and 2 more"


def test_the_last_task_has_no_next() -> None:
    full = {"norm": 10.0, "rope": 20.0, "speed": 70.0}
    after = report_of(
        *(named(name, task) for name, task in zip("abc", full, strict=True)), score=full
    )

    assert changes(BEGUN, after)[-1] == "done: norm"
