"""What is held back from single students: each word a row with author and reason."""

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from grader.course.commands.marks.book import check_said, known_student, open_store
from grader.course.config import load_course
from grader.course.database.giving.records import HELD_BACK, Hold, held
from grader.course.database.giving.returns import Returns
from grader.errors import UsageError
from grader.labs.lab import find_lab, find_root
from grader.text import moment_text, visible_line


@dataclass(frozen=True, slots=True)
class Word:
    """A hold as typed, or the end of one."""

    student: str
    lab: str
    holds: bool
    author: str
    reason: str


def say(course_file: Path, word: Word) -> int:
    """Hold a student's report and mark of a lab back, or let them go out again."""
    course, lab = load_course(course_file), find_lab(word.lab, find_root())
    check_said(word.author, word.reason)
    with open_store(course) as store:
        student = known_student(store.students(), word.student).id
        returns = Returns(store)
        is_held = (student, lab.name) in held(returns.holds(student))
        if is_held and word.holds:
            raise UsageError(f"{lab.name} of {student} is held back already", "release ends it")
        if not is_held and not word.holds:
            told = f"{lab.name} of {student} is not held back"
            raise UsageError(told, "lab gradebook holds lists what is")
        said = word.author.strip(), word.reason.strip()
        returns.add_hold(Hold(student, lab.name, word.holds, *said, datetime.now(UTC)))
    goes = f'no report or mark goes out; the student reads "{HELD_BACK}"'
    print(f"{student}, {lab.name}: {goes if word.holds else 'goes out again'}")
    return 0


def show(course_file: Path, *, everything: bool) -> int:
    """List what is held back, by whom and why; or everything that was ever said."""
    course = load_course(course_file)
    with open_store(course) as store:
        words = Returns(store).holds()
    found = words if everything else [*held(words).values()]
    for word in found:
        did = "held back" if word.holds else "released"
        said = f"{did} by {word.author} on {moment_text(word.made, course.zone)}: {word.reason}"
        print(visible_line(f"{word.student}, {word.lab}: {said}", 2000))
    if not found:
        print("nothing is held back")
    return 0
