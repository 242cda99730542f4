"""What is given back: the report that the service shows a student, with the mark and a receipt.

What is held back makes no package, so that none of the ways can send it.
"""

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from grader.course.config import Course
from grader.course.database.giving.records import held
from grader.course.database.giving.returns import Returns
from grader.course.database.records import Attempt, Frozen, Student
from grader.course.database.service_tables import HandInRow
from grader.course.database.store import Store
from grader.course.gradebook.gradebook import read_gradebook
from grader.course.gradebook.marks import Mark
from grader.course.gradebook.pages import points_of
from grader.course.grading.batch import files_of
from grader.course.policy import Feedback
from grader.errors import UsageError
from grader.labs.documents.submission import fingerprint
from grader.labs.lab import Lab
from grader.labs.manual import WAITING
from grader.languages.language import say, say_each
from grader.report.formats.html import render_html
from grader.report.formats.markdown import plain, render_markdown
from grader.report.markup.web import escaped
from grader.service.core.feedback import shown_to_student
from grader.service.core.views import feedback_of
from grader.service.domain.records import SHOWN_HASH, number_of
from grader.service.ports.clock import Clock
from grader.text import moment_text, visible_line


@dataclass(frozen=True, slots=True)
class Package:
    """What one student gets of one lab."""

    student: Student
    lab: Lab
    mark: str
    why: str
    receipt: str
    markdown: str
    html: str

    @property
    def digest(self) -> str:
        """What no two reports share."""
        return hashlib.sha256(f"{self.markdown}\0{self.html}".encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Packed:
    """The packages of a class, and why there is none of some students."""

    packages: tuple[Package, ...]
    absent: Mapping[str, str]


def packed(
    course: Course, lab: Lab, store: Store, clock: Clock, names: Collection[str] = ()
) -> Packed:
    """Pack the reports of a lab of some students or of all; raises UsageError of an unknown one."""
    students = store.students()
    unknown = sorted({*names} - {student.id for student in students})
    if unknown:
        hint = "lab gradebook lists them"
        raise UsageError(f"no student {visible_line(unknown[0])!r} is on the roster", hint)
    book = read_gradebook(course, store, [lab.name], {lab.name: lab.title}, now=clock.now())
    back = held(Returns(store).holds())
    frozen = {(each.student, each.commit): each for each in store.collections(lab.name)}
    packages: list[Package] = []
    absent: dict[str, str] = {}
    for student in students:
        if names and student.id not in names:
            continue
        mark = book.marks.get((student.id, lab.name))
        if (word := back.get((student.id, lab.name))) is not None:
            absent[student.id] = f"held back by {word.author}: {word.reason}"
        elif mark is None or mark.attempt is None:
            absent[student.id] = mark.why if mark else "nothing was graded"
        elif mark.is_unread:
            absent[student.id] = WAITING
        else:
            receipt = _receipt(course, lab, store, mark.attempt, frozen)
            feedback = feedback_of(book.course, student.id, lab.name, clock.now())
            packages.append(_package(student, lab, mark, receipt, feedback))
    return Packed(tuple(packages), absent)


def _package(student: Student, lab: Lab, mark: Mark, receipt: str, feedback: Feedback) -> Package:
    assert mark.attempt is not None  # else there is no package
    report = shown_to_student(mark.report, feedback)
    points, why = say(points_of(mark)), visible_line(say_each(mark.why), 2000)
    facts = (say(f"{student.id}: your mark is {points}: {why}"), receipt)
    above = [f"<p>{escaped(line)}</p>" for line in facts]
    text = "\n\n".join([*map(plain, facts), render_markdown(report)])
    return Package(student, lab, points, why, receipt, text, render_html(report, above))


def _receipt(
    course: Course,
    lab: Lab,
    store: Store,
    attempt: Attempt,
    frozen: Mapping[tuple[str, str], Frozen],
) -> str:
    """Say which work was graded: its number or commit, its hash, and when it came."""
    count = number_of(attempt.commit)
    if count:
        with store.reading() as session:
            row = session.get(HandInRow, int(count))
            if row is not None:
                came = moment_text(row.received, course.zone)
                hash = row.sha256[:SHOWN_HASH]
                return say(f"Receipt: number {count}, hash {hash}, handed in {came}")
    found = frozen.get((attempt.student, attempt.commit))
    if found is None:
        return say(f"Receipt: commit {attempt.commit}")
    files = files_of(course, lab, found.path)
    number = f"hash {fingerprint(files)[:SHOWN_HASH]}" if files else "its files are gone"
    came = moment_text(found.committed, course.zone)
    taken = moment_text(found.collected, course.zone)
    commit = attempt.commit
    return say(f"Receipt: commit {commit}, {number}, dated {came}, collected {taken}")
