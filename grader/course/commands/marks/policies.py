"""What other rules would make of the marks that are there: shown, and never recorded."""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from grader.course.commands.marks.book import NOT_YET, known_student, open_store
from grader.course.config import Course, load_course
from grader.course.gradebook.gradebook import Gradebook, read_gradebook
from grader.course.gradebook.pages import points_of
from grader.course.rules.weights import TotalRule
from grader.errors import UsageError
from grader.labs.lab import find_lab, find_root
from grader.text import visible_line

MOST_NAMED = 10


@dataclass(frozen=True, slots=True)
class WhatIf:
    """What is asked: the rules of ``policy``, a whole course.toml, for the marks of a course."""

    course: Path
    policy: Path
    labs: tuple[str, ...]  # none: all
    student: str | None  # None: all
    nobody_loses: bool


@dataclass(frozen=True, slots=True)
class Changed:
    """A mark, or a total, by both rules."""

    name: str  # of the lab, or "total"
    before: str
    after: str
    why: tuple[str, str]
    loses: bool


def under(course: Course, policy: Course) -> Course:
    """Return a course with the rules of another one for its marks, and all else as it was."""
    return replace(
        course,
        zone=policy.zone,
        deadlines=policy.deadlines,
        extensions=policy.extensions,
        extra_time=policy.extra_time,
        late=policy.late,
        mark=policy.mark,
        total=policy.total,
    )


def show_policy(order: WhatIf) -> int:
    """Show each mark and total that other rules would change, and why.

    Returns 1 if nobody was to lose by it, and somebody would.
    """
    before, after = _books(order)
    by = f"by {visible_line(str(order.policy))}"
    return tell_changes(before, after, by, nobody_loses=order.nobody_loses)


def tell_changes(before: Gradebook, after: Gradebook, by: str, *, nobody_loses: bool) -> int:
    """Print what differs between two gradebooks of a course, ``by`` what, student by student.

    Returns 1 if nobody was to lose by it, and somebody would.
    """
    changed = {
        student.id: found
        for student in before.students
        if (found := list(changes(before, after, student.id)))
    }
    for student in before.students:
        for line in _lines(changed.get(student.id, ()), f"{student.id}  {student.name}"):
            print(line)
    many = len(changed)
    what = "no mark changes" if not many else f"{_students(many)} would have other marks or totals"
    print(f"{by} {what}; nothing was recorded")
    losers = [name for name, found in changed.items() if any(item.loses for item in found)]
    if nobody_loses:
        more = f" and {len(losers) - MOST_NAMED} more" if len(losers) > MOST_NAMED else ""
        named = f"{_students(len(losers))} would lose: {', '.join(losers[:MOST_NAMED])}{more}"
        print(named if losers else "nobody would lose by it", file=sys.stderr)
    return 1 if nobody_loses and losers else 0


def changes(before: Gradebook, after: Gradebook, student: str) -> Iterator[Changed]:
    """Yield what differs for a student: marks, then the total."""
    for old in before.of(student):
        new = after.marks[student, old.lab]
        if old.points != new.points:
            loses = (new.points or 0.0) < (old.points or 0.0)
            yield Changed(old.lab, points_of(old), points_of(new), (old.why, new.why), loses)
    one, two = before.totals.get(student), after.totals.get(student)
    if one is None or two is None:
        points = before.total(student), after.total(student)
        if points[0] != points[1]:
            shown = before.total_shown(student), after.total_shown(student)
            yield Changed("total", *shown, ("", ""), points[1] < points[0])
    elif one.percent != two.percent:
        loses = one.percent is not None and (two.percent is None or two.percent < one.percent)
        yield Changed("total", one.shown, two.shown, (one.line, two.line), loses)


def _books(order: WhatIf) -> tuple[Gradebook, Gradebook]:
    course = load_course(order.course)
    other = under(course, load_course(order.policy))
    if course.total or other.total:  # a sum and a percentage cannot be compared
        course, other = (replace(each, total=each.total or TotalRule()) for each in (course, other))
    labs = [find_lab(text, find_root()).name for text in order.labs]
    now = datetime.now(UTC)
    with open_store(course) as store:
        if order.student is not None:
            known_student(store.students(), order.student)
        before, after = (
            read_gradebook(each, store, labs, student=order.student, now=now)
            for each in (course, other)
        )
    if not before.students:
        raise UsageError("the gradebook is empty", NOT_YET)
    return before, after


def _lines(found: Sequence[Changed], name: str) -> Iterator[str]:
    if found:
        yield visible_line(name)
    for item in found:
        yield f"  {item.name}: {item.before} -> {item.after}"
        for word, why in zip(("now", "then"), item.why, strict=True):
            if why:
                yield f"    {word}: {visible_line(why, 2000)}"


def _students(count: int) -> str:
    return "1 student" if count == 1 else f"{count} students"
