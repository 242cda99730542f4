"""What staff granted single students, put beside what ``course.toml`` says."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, tzinfo

from grader.course.config import MOMENT_HINT, YEARS, Course, Granted
from grader.course.database.records import Grant, GrantKind
from grader.errors import UsageError
from grader.text import moment_text


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


def closing(course: Course | None, number: int) -> datetime | None:
    """Return when nobody can hand in a lab any more; None if no deadline is known."""
    due = course.deadlines.get(number) if course else None
    if course is None or due is None:
        return None
    longer = [who for who, lab in {*course.extensions, *course.grants} if lab == number]
    return course.end(max([due, *filter(None, (course.deadline(who, number) for who in longer))]))


def check_grant(course: Course, grants: Iterable[Grant], word: Grant) -> None:
    """Raise UsageError where a grant would change nothing; ``grants`` are those before it."""
    student, number = word.student, word.number
    due = course.deadline(student, number)
    if due is None:
        raise UsageError(f"lab {number} has no deadline", "so nothing of it is ever late")
    if word.until is not None and word.until <= due:
        told = f"{student} has time until {moment_text(due, course.zone)} by course.toml"
        raise UsageError(told, "an extension ends later; none takes one back")
    before = granted(course, grants).granted(student, number)
    held = before.waiver if word.kind is GrantKind.WAIVER else before.extension
    if not word.holds and held is None:
        raise UsageError(f"{student} has no {word.kind} in lab {number}", "so none is taken back")


def moment_of(text: str, zone: tzinfo | None = None) -> datetime:
    """Read a moment, of a zone where it names no offset; raises UsageError."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(f"{text!r} is no moment", MOMENT_HINT) from None
    if moment.year not in YEARS:
        raise UsageError(f"{text} is out of range", MOMENT_HINT)
    if moment.tzinfo is None:
        if zone is None:
            raise UsageError(f"{text} does not say its offset from UTC", MOMENT_HINT)
        moment = moment.replace(tzinfo=zone)
    return moment.astimezone(UTC)
