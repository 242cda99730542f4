"""What staff granted single students by command, put beside what ``course.toml`` says."""

from collections.abc import Iterable
from dataclasses import replace

from grader.course.config import Course, Granted
from grader.course.database.records import Grant, GrantKind


def granted(course: Course, grants: Iterable[Grant]) -> Course:
    """Return a course in which grants hold; they come in the order in which they were recorded."""
    newest = {(item.student, item.number, item.kind): item for item in grants}
    held = {key: item for key, item in newest.items() if item.holds}
    found = {
        (student, number): Granted(
            held.get((student, number, GrantKind.EXTENSION)),
            held.get((student, number, GrantKind.WAIVER)),
        )
        for student, number, _ in held
    }
    return replace(course, grants=found) if found else course
