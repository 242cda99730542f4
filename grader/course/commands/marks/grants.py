"""Extensions and waivers: each a row with author and reason, and taken back by another row."""

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from grader.course.commands.marks.book import check_said, known_student, open_store
from grader.course.config import Course, load_course
from grader.course.database.records import Grant, GrantKind
from grader.course.database.store import Store
from grader.course.gradebook.gradebook import read_gradebook
from grader.course.gradebook.pages import points_of
from grader.course.grants import check_grant, moment_of
from grader.labs.lab import Lab, find_lab, find_root
from grader.text import moment_text, visible_line

NONE = "none"  # instead of a moment: takes an extension back


@dataclass(frozen=True, slots=True)
class Wish:
    """A grant as typed; ``until`` None: a waiver."""

    student: str
    lab: str
    until: str | None
    take_back: bool
    author: str
    reason: str


def grant(course_file: Path, wish: Wish) -> int:
    """Give a student more time in a lab or waive what lateness costs, or take either back."""
    course, lab = load_course(course_file), find_lab(wish.lab, find_root())
    check_said(wish.author, wish.reason)
    kind = GrantKind.WAIVER if wish.until is None else GrantKind.EXTENSION
    with open_store(course) as store:
        student = known_student(store.students(), wish.student).id
        ends = wish.take_back or wish.until == NONE
        until = None if ends or wish.until is None else moment_of(wish.until)
        said = wish.author.strip(), wish.reason.strip()
        word = Grant(student, lab.name, kind, until, not ends, *said, datetime.now(UTC))
        check_grant(course, store.grants(), word)
        store.add_grant(word)
        _tell(course, store, student, lab)
    return 0


def _tell(course: Course, store: Store, student: str, lab: Lab) -> None:
    book = read_gradebook(course, store, [lab.name], student=student)
    due = book.course.deadline(student, lab.number)
    waived = ", lateness waived" if book.course.granted(student, lab.number).waiver else ""
    print(f"{student}, {lab.name}: due {moment_text(due, course.zone)}{waived}")
    if mark := book.marks.get((student, lab.name)):
        print(f"{student}, {lab.name}: {points_of(mark)}: {visible_line(mark.why, 1000)}")
