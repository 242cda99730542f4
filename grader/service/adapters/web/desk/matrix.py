"""The table of all students by labs: who of them is shown, and what is counted below it."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from grader.course.database.records import Student
from grader.course.gradebook.gradebook import Gradebook
from grader.course.gradebook.marks import UNREAD, Mark, lab_number
from grader.text import moment_text, number

MOST_SEARCHED = 100  # characters


class Show(StrEnum):
    """Which students the table shows."""

    ALL = "all"
    LATE = "late"
    MISSING = "missing"
    REVIEW = "to review"
    BY_HAND = "set by hand"


@dataclass(frozen=True, slots=True)
class Cell:
    """A mark in the table: what stands there, and why."""

    lab: str
    shown: str
    why: str


@dataclass(frozen=True, slots=True)
class Row:
    """A student in the table."""

    student: Student
    cells: Sequence[Cell]
    total: str
    why: str


@dataclass(frozen=True, slots=True)
class Column:
    """A lab above and below the table."""

    lab: str
    due: str  # "" without a deadline
    marks: int
    late: int
    missing: int


@dataclass(frozen=True, slots=True)
class Matrix:
    """The table, and how many students it leaves out."""

    columns: Sequence[Column]
    rows: Sequence[Row]
    students: int


def matrix(
    book: Gradebook, due: Collection[tuple[str, str]], now: datetime, search: str, show: Show
) -> Matrix:
    """Make the table of those students whom a search and a filter leave.

    ``due`` are the marks, by student and lab, that a person has to look at.
    """
    wanted = search[:MOST_SEARCHED].casefold().split()
    chosen = [
        student
        for student in book.students
        if all(word in f"{student.id} {student.name}".casefold() for word in wanted)
        and (
            show is Show.ALL
            or any(_fits(book, mark, due, now, show) for mark in book.of(student.id))
        )
    ]
    return Matrix(
        [_column(book, lab, now) for lab in book.labs],
        [_row(book, student, due) for student in chosen],
        len(book.students),
    )


def is_missing(book: Gradebook, mark: Mark, now: datetime) -> bool:
    """Whether a student has no mark in a lab although their deadline has passed."""
    due = book.course.deadline(mark.student, lab_number(mark.lab))
    is_without = mark.points is None and not mark.is_unread
    return is_without and mark.lab in book.handed_in and due is not None and due < now


def _fits(
    book: Gradebook, mark: Mark, due: Collection[tuple[str, str]], now: datetime, show: Show
) -> bool:
    match show:
        case Show.LATE:
            return mark.late_days > 0
        case Show.MISSING:
            return is_missing(book, mark, now)
        case Show.REVIEW:
            return (mark.student, mark.lab) in due
        case Show.BY_HAND:
            return mark.override is not None
        case _:
            return True


def _column(book: Gradebook, lab: str, now: datetime) -> Column:
    marks = [book.marks[student.id, lab] for student in book.students]
    moment = book.course.deadlines.get(lab_number(lab))
    return Column(
        lab,
        moment_text(moment, book.course.zone) if moment else "",
        marks=sum(mark.points is not None for mark in marks),
        late=sum(mark.late_days > 0 for mark in marks),
        missing=sum(is_missing(book, mark, now) for mark in marks),
    )


def _row(book: Gradebook, student: Student, due: Collection[tuple[str, str]]) -> Row:
    cells = [Cell(mark.lab, _short(mark, due), mark.why) for mark in book.of(student.id)]
    return Row(student, cells, book.total_shown(student.id), book.total_why(student.id))


def _short(mark: Mark, due: Collection[tuple[str, str]]) -> str:
    if mark.points is None:
        return UNREAD if mark.is_unread else "-"
    sign = "!" if mark.override else "*" if mark.late_days else ""
    sign += "?" if (mark.student, mark.lab) in due else ""
    return f"{number(mark.points)}{sign}"
