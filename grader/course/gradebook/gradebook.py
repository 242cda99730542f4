"""The gradebook of a course: every mark of every student."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Protocol

from grader.course.config import Course
from grader.course.database.records import (
    Attempt,
    Comment,
    Correction,
    Frozen,
    Grant,
    Likeness,
    Override,
    Remark,
    Run,
    Student,
)
from grader.course.gradebook.marks import Mark, lab_number, mark
from grader.course.gradebook.totals import totals
from grader.course.grants import granted
from grader.course.rules.total import Total
from grader.labs.manual import WAITING
from grader.text import number


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
    remarks: Mapping[tuple[str, str], str]  # of collecting, for the staff alone
    totals: Mapping[str, Total] = field(default_factory=dict[str, Total])  # by the course's rule
    comments: Sequence[Comment] = ()  # on work of these students, withdrawn ones too

    def title(self, lab: str) -> str:
        """For example "01_llama: Llama from scratch"."""
        return f"{lab}: {self.titles[lab]}" if self.titles.get(lab) else lab

    def told(self, student: str) -> list[Mark]:
        """A student's marks, without labs of which only others have one, set by hand."""
        marks = self.of(student)
        return [item for item in marks if item.points is not None or item.lab in self.handed_in]

    def remark(self, student: str, lab: str) -> str:
        """What collecting gave a person to look at, beyond what the mark says; for the staff."""
        why = self.marks[student, lab].why
        parts = self.remarks.get((student, lab), "").split("; ")
        return "; ".join(part for part in parts if part not in why)

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
        """What the course's rule counts in a student's total; without one, what is not in it."""
        found = self.totals.get(student)
        if found:
            return found.why
        unread = [mark.lab[:2] for mark in self.of(student) if mark.is_unread]
        return f"without {', '.join(unread)} ({WAITING})" if unread else ""


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

    def remarks(self) -> Sequence[Remark]:
        """What the newest collection of each student and lab gave a person to look at."""
        ...

    def comments(self, lab: str | None = None, student: str | None = None) -> Sequence[Comment]:
        """What the staff said of work, and what it took back, oldest first."""
        ...

    def corrections(self, student: str | None = None) -> Sequence[Correction]:
        """Points of tasks that people gave, in the order in which they were recorded."""
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
    attempts = _attempts(course, store, alone, student)
    graded = {attempt.lab for attempt in attempts} | {run.lab for run in store.runs()}
    handed_in = graded | set(store.collected_labs())
    known = handed_in | {override.lab for override in store.overrides()}
    chosen = [lab for lab in sorted(known) if not labs or lab in labs]
    grouped: dict[tuple[str, str], list[Attempt]] = {}
    for attempt in attempts:
        for member in course.team(attempt.student, lab_number(attempt.lab)):
            grouped.setdefault((member, attempt.lab), []).append(attempt)
    overrides: dict[tuple[str, str], list[Override]] = {}
    for override in store.overrides():
        overrides.setdefault((override.student, override.lab), []).append(override)
    corrections: dict[tuple[str, str], list[Correction]] = {}
    for word in store.corrections(None if _mates(course, student) else student):
        for member in course.team(word.student, lab_number(word.lab)):
            corrections.setdefault((member, word.lab), []).append(word)
    frozen = {(item.student, lab): item for lab in chosen for item in store.frozen(lab)}
    work = sorted(known) if course.late.slip_days else chosen
    marks = {
        (each.id, mark.lab): mark
        for each in students
        for mark in _marks(course, each.id, work, grouped, overrides, frozen, corrections)
        if mark.lab in chosen
    }
    likenesses = [item for lab in chosen for item in store.likenesses(lab)]
    others = set[int]() if labs else {*course.deadlines}.difference(map(lab_number, chosen))
    own = {each.id: [marks[each.id, lab] for lab in chosen] for each in students}
    return Gradebook(
        *(course, students, chosen, marks, frozen, grouped, likenesses),
        handed_in=frozenset(handed_in),
        titles=titles or {},
        remarks={(item.student, item.lab): item.text for item in store.remarks()},
        totals=totals(course, own, graded, now or datetime.now(UTC), others),
        comments=store.comments(alone, student),
    )


def _attempts(
    course: Course, store: Records, lab: str | None, student: str | None
) -> Sequence[Attempt]:
    """Read the attempts of a lab or of all, and of all or of a student and their teams."""
    if student is None:
        return store.attempts(lab)
    found = [*store.attempts(lab, student)]
    for mate in _mates(course, student):
        found += [
            a for a in store.attempts(lab, mate) if student in course.team(mate, lab_number(a.lab))
        ]
    return sorted(found, key=lambda attempt: attempt.row or 0)


def _mates(course: Course, student: str | None) -> set[str]:
    """Return with whom a student hands in any lab."""
    teams = (team for (member, _), team in course.teams.items() if member == student)
    return {mate for team in teams for mate in team if mate != student}


def _marks(
    course: Course,
    student: str,
    labs: Iterable[str],
    attempts: Mapping[tuple[str, str], Sequence[Attempt]],
    overrides: Mapping[tuple[str, str], Sequence[Override]],
    frozen: Mapping[tuple[str, str], Frozen],
    corrections: Mapping[tuple[str, str], Sequence[Correction]],
) -> Iterator[Mark]:
    """Yield a student's marks, in the order in which slip days are spent."""
    left = course.late.slip_days
    for lab in _by_deadline(course, student, labs) if left else labs:
        key = student, lab
        own = attempts.get(key, ()), overrides.get(key, ()), frozen.get(key)
        found = _mark(course, *own, key, left, corrections.get(key, ()))
        left -= found.slip_days
        yield found


def _by_deadline(course: Course, student: str, labs: Iterable[str]) -> list[str]:
    """Return labs in the order of a student's deadlines, those without one last."""

    def key(lab: str) -> tuple[bool, datetime, str]:
        due = course.deadline(student, lab_number(lab))
        return due is None, due or datetime.max.replace(tzinfo=UTC), lab

    return sorted(labs, key=key)


def _mark(
    course: Course,
    attempts: Sequence[Attempt],
    overrides: Sequence[Override],
    frozen: Frozen | None,
    key: tuple[str, str],
    slip_days: int,
    corrections: Sequence[Correction],
) -> Mark:
    found = mark(attempts, overrides, course, *key, slip_days, corrections)
    if found.points is not None or attempts:
        return found
    # Why there is nothing to grade is known to whoever collected it.
    problem = frozen.problem if frozen else "it was not collected"
    why = f"{found.why}: {problem}" if problem else f"{found.why} yet"
    return Mark(*key, None, found.possible, None, 0, None, why)
