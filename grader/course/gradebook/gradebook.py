"""The gradebook of a course: every mark of every student, and what a regrade would change."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Protocol

from grader.course.config import Course
from grader.course.database.records import Attempt, Frozen, Grant, Likeness, Override, Run, Student
from grader.course.database.store import Store
from grader.course.gradebook.marks import Mark, by_deadline, lab_number, mark
from grader.course.gradebook.totals import totals
from grader.course.grants import granted
from grader.course.rules.total import Total
from grader.errors import UsageError
from grader.labs.results import Verdict
from grader.report.facts.measured import listed, number_of, table_of, text_of
from grader.text import number

Work = tuple[str, str]  # a student and a commit
PASSED = Verdict.PASSED.value
ABSENT = "absent"  # a test that one of two runs does not have


@dataclass(frozen=True, slots=True)
class Gradebook:
    """A course as of now. Labs are those that were collected or graded, in order."""

    course: Course
    students: Sequence[Student]
    labs: Sequence[str]
    marks: Mapping[tuple[str, str], Mark]  # by student and lab, all of both
    frozen: Mapping[tuple[str, str], Frozen]
    attempts: Mapping[tuple[str, str], Sequence[Attempt]]
    likenesses: Sequence[Likeness]
    handed_in: frozenset[str]  # labs that were collected or graded; of others a mark may be set
    titles: Mapping[str, str]  # of labs, as far as they are known
    totals: Mapping[str, Total] = field(default_factory=dict[str, Total])  # by the course's rule

    def title(self, lab: str) -> str:
        """For example "01_llama: Llama from scratch"."""
        return f"{lab}: {self.titles[lab]}" if self.titles.get(lab) else lab

    def told(self, student: str) -> list[Mark]:
        """A student's marks, without labs of which only others have one, set by hand."""
        marks = self.of(student)
        return [item for item in marks if item.points is not None or item.lab in self.handed_in]

    def of(self, student: str) -> list[Mark]:
        """A student's marks, in the order of the labs."""
        return [self.marks[student, lab] for lab in self.labs]

    def total(self, student: str) -> float:
        """The sum of a student's marks; by weight where the course has a rule for it."""
        if student in self.totals:
            return self.totals[student].points
        return round(sum(mark.points or 0.0 for mark in self.of(student)), 4)

    def total_shown(self, student: str) -> str:
        """A student's total in short: "430.5", or "86 %" by the course's rule."""
        found = self.totals.get(student)
        return found.shown if found else number(self.total(student))

    def total_line(self, student: str) -> str:
        """A student's total in words, with how much was possible by the course's rule."""
        found = self.totals.get(student)
        return found.head if found else f"{number(self.total(student))} points in all"

    def total_why(self, student: str) -> str:
        """What the course's rule counts in a student's total; "" without one."""
        found = self.totals.get(student)
        return found.why if found else ""


class Records(Protocol):
    """What a gradebook is made of; a ``Store`` has it."""

    def students(self) -> list[Student]:
        """The roster, in its order."""
        ...

    def attempts(self, lab: str | None = None, student: str | None = None) -> Sequence[Attempt]:
        """All attempts, or a lab's, or a student's, in the order in which they were recorded."""
        ...

    def overrides(self) -> Sequence[Override]:
        """All overrides, in the order in which they were made."""
        ...

    def grants(self) -> Sequence[Grant]:
        """All grants, in the order in which they were made."""
        ...

    def runs(self) -> Sequence[Run]:
        """All runs."""
        ...

    def collected_labs(self) -> Sequence[str]:
        """The labs of which anything was collected."""
        ...

    def frozen(self, lab: str) -> Sequence[Frozen]:
        """What each student had handed in when it was last collected."""
        ...

    def likenesses(self, lab: str) -> Sequence[Likeness]:
        """Answers that share much of their code."""
        ...


def read_gradebook(
    course: Course,
    store: Records,
    labs: Sequence[str] = (),
    titles: Mapping[str, str] | None = None,
    student: str | None = None,
    now: datetime | None = None,
) -> Gradebook:
    """Read the course's gradebook, of some labs ("01_llama") or of all, and of one student or all.

    Of one who is not on the roster it is that of nobody. ``now`` says what is due; None: this
    moment.
    """
    students = [each for each in store.students() if student in (None, each.id)]
    course = granted(course, store.grants())
    # What slip days are left depends on all labs.
    alone = labs[0] if len(labs) == 1 and not course.late.slip_days else None
    attempts = store.attempts(alone, student)
    graded = {attempt.lab for attempt in attempts} | {run.lab for run in store.runs()}
    handed_in = graded | set(store.collected_labs())
    known = handed_in | {override.lab for override in store.overrides()}
    chosen = [lab for lab in sorted(known) if not labs or lab in labs]
    grouped: dict[tuple[str, str], list[Attempt]] = {}
    for attempt in attempts:
        grouped.setdefault((attempt.student, attempt.lab), []).append(attempt)
    overrides: dict[tuple[str, str], list[Override]] = {}
    for override in store.overrides():
        overrides.setdefault((override.student, override.lab), []).append(override)
    frozen = {(item.student, lab): item for lab in chosen for item in store.frozen(lab)}
    work = sorted(known) if course.late.slip_days else chosen
    marks = {
        (each.id, mark.lab): mark
        for each in students
        for mark in _marks(course, each.id, work, grouped, overrides, frozen)
        if mark.lab in chosen
    }
    likenesses = [item for lab in chosen for item in store.likenesses(lab)]
    others = set[int]() if labs else {*course.deadlines}.difference(map(lab_number, chosen))
    own = {each.id: [marks[each.id, lab] for lab in chosen] for each in students}
    return Gradebook(
        *(course, students, chosen, marks, frozen, grouped, likenesses),
        handed_in=frozenset(handed_in),
        titles=titles or {},
        totals=totals(course, own, graded, now or datetime.now(UTC), others),
    )


def _marks(
    course: Course,
    student: str,
    labs: Iterable[str],
    attempts: Mapping[tuple[str, str], Sequence[Attempt]],
    overrides: Mapping[tuple[str, str], Sequence[Override]],
    frozen: Mapping[tuple[str, str], Frozen],
) -> Iterator[Mark]:
    """Yield a student's marks, in the order in which slip days are spent."""
    left = course.late.slip_days
    for lab in by_deadline(course, student, labs) if left else labs:
        key = student, lab
        own = attempts.get(key, ()), overrides.get(key, ()), frozen.get(key)
        found = _mark(course, *own, key, left)
        left -= found.slip_days
        yield found


def _mark(
    course: Course,
    attempts: Sequence[Attempt],
    overrides: Sequence[Override],
    frozen: Frozen | None,
    key: tuple[str, str],
    slip_days: int,
) -> Mark:
    found = mark(attempts, overrides, course, *key, slip_days)
    if found.points is not None or attempts:
        return found
    # Why there is nothing to grade is known to whoever collected it.
    problem = frozen.problem if frozen else "it was not collected"
    why = f"{found.why}: {problem}" if problem else f"{found.why} yet"
    return Mark(*key, None, found.possible, None, 0, None, why)


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
