"""What a regrade changes: two runs of a lab, or two gradings of the same work, compared."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from grader.course.database.records import Attempt
from grader.course.database.store import Store
from grader.errors import UsageError
from grader.report.facts.measured import listed, number_of, table_of, text_of

Work = tuple[str, str]  # a student and a commit
ABSENT = "absent"  # a test that one of two runs does not have


@dataclass(frozen=True, slots=True)
class Change:
    """What points and tests of one commit of a student were in a run, and are in another."""

    student: str
    commit: str
    before: float | None  # None: not in that run, or not graded in it
    after: float | None
    tests: Sequence[tuple[str, str, str]]  # id, verdict before, verdict after
    tasks: Sequence[tuple[str, float, float]] = ()  # id, points before, points after

    @property
    def kind(self) -> str:
        """The direction: "up", "down", "same" points, or "only" in one of the runs."""
        if self.before is None or self.after is None:
            return "only"
        return "up" if self.after > self.before else "down" if self.after < self.before else "same"


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two runs of a lab; ``left_out`` are students whom one of them was not asked to grade."""

    changes: Sequence[Change]
    left_out: Sequence[str]


def compare_runs(store: Store, before: str, after: str) -> Comparison:
    """Compare two runs of one lab: the commits of which points or verdicts differ."""
    runs = {run.id: run for run in store.runs()}
    for name in (before, after):
        if name not in runs:
            known = ", ".join(f"{run.id} ({run.lab})" for run in runs.values()) or "none"
            raise UsageError(f"there is no run {name!r}", f"runs: {known}")
    if runs[before].lab != runs[after].lab:
        shown = f"run {before} is of {runs[before].lab}, run {after} of {runs[after].lab}"
        raise UsageError(shown, "compare two runs of one lab")
    old, new = graded(store.attempts(run=before)), graded(store.attempts(run=after))
    keys = sorted({*old, *new})
    scopes = [set(runs[name].students) for name in (before, after) if runs[name].students]
    asked = [key for key in keys if all(key[0] in scope for scope in scopes)]
    return Comparison(
        changes=compare(old, new, asked),
        left_out=sorted({student for student, _ in keys} - {student for student, _ in asked}),
    )


def compare(
    old: Mapping[Work, Attempt], new: Mapping[Work, Attempt], work: Iterable[Work]
) -> list[Change]:
    """Compare gradings of work: that of which points or verdicts differ."""
    changes = (_change(key, old.get(key), new.get(key)) for key in work)
    return [item for item in changes if item.tests or item.before != item.after]


def graded(attempts: Iterable[Attempt]) -> dict[Work, Attempt]:
    """The last grading of each commit that did not fail by our fault."""
    return {(attempt.student, attempt.commit): attempt for attempt in attempts if not attempt.infra}


def _change(key: Work, old: Attempt | None, new: Attempt | None) -> Change:
    verdicts = [_verdicts(attempt) if attempt else {} for attempt in (old, new)]
    tests: list[tuple[str, str, str]] = []
    for test in {**verdicts[0], **verdicts[1]} if old and new else ():
        pair = verdicts[0].get(test, ABSENT), verdicts[1].get(test, ABSENT)
        if pair[0] != pair[1]:
            tests.append((test[1], *pair))
    points = [_tasks(attempt) if attempt else {} for attempt in (old, new)]
    tasks = [
        (task, points[0][task], now)
        for task, now in points[1].items()
        if task in points[0] and points[0][task] != now
    ]
    return Change(
        *key,
        before=old.points if old else None,
        after=new.points if new else None,
        tests=tests,
        tasks=tasks,
    )


def _tasks(attempt: Attempt) -> dict[str, float]:
    tasks = (table_of(task) for task in listed(attempt.report.get("tasks")))
    return {text_of(task.get("id")): number_of(task.get("score")) or 0.0 for task in tasks}


def _verdicts(attempt: Attempt) -> dict[tuple[str, str], str]:
    tests: list[Mapping[str, Any]] = [
        table_of(test) for test in listed(attempt.report.get("tests"))
    ]
    return {
        (text_of(test.get("suite")), text_of(test.get("id"))): text_of(test.get("verdict"))
        for test in tests
    }
