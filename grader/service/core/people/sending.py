"""Marks go to a learning platform: none twice, none missing, whoever is killed on the way.

A mark is noted before it goes and once it has arrived. Of one that was noted and no more, nobody
knows whether it arrived: the platform is asked first.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from grader.course.gradebook.gradebook import Gradebook
from grader.course.gradebook.marks import Mark
from grader.errors import InferlabError
from grader.service.domain.platforms import Sent
from grader.service.ports.clock import Clock
from grader.service.ports.launches import Platforms
from grader.text import number, visible_line

LONGEST_COMMENT = 500  # characters


class NotTaken(InferlabError):
    """The platform refused one mark; others may go."""


@dataclass(frozen=True, slots=True)
class Result:
    """What the platform shows of a student."""

    points: float | None
    possible: float | None
    comment: str


class Grades(Protocol):
    """The platform's gradebook. Each raises CannotGrade if it is away."""

    def item(self, lab: str, label: str, possible: float) -> str:
        """Return the line item of a lab, which is made if there is none."""
        ...

    def results(self, item: str) -> Mapping[str, Result]:
        """Return what the platform shows, by its own names of people."""
        ...

    def put(self, item: str, sub: str, mark: Sent, submitted: datetime | None) -> None:
        """Send a mark; raises NotTaken."""
        ...


@dataclass(frozen=True, slots=True)
class Told:
    """What became of one mark, as a line; ``failed`` if it did not arrive."""

    line: str
    sent: bool = False
    failed: bool = False


def send(
    book: Gradebook,
    subs: Mapping[str, str],
    connect: Callable[[], Grades],
    platforms: Platforms,
    clock: Clock,
    *,
    dry_run: bool = False,
) -> Iterator[Told]:
    """Send each mark of a gradebook that the platform does not have yet; ``subs`` by student."""
    grades: Grades | None = None
    for lab in book.labs:
        marks = [
            mark
            for student in book.students
            if (mark := book.marks[student.id, lab]).points is not None
        ]
        due = [mark for mark in marks if _is_due(mark, platforms, clock.now())]
        known = [mark for mark in due if mark.student in subs]
        for mark in due:
            if mark.student not in subs:
                told = "the platform names nobody who is this student"
                yield Told(f"{mark.student}, {lab}: {told}", failed=True)
        if dry_run:
            yield from (Told(f"{_line(mark)}: would be sent") for mark in known)
        elif known:
            grades = grades or connect()
            yield from _send_lab(book, known, subs, grades, platforms, clock)


def _is_due(mark: Mark, platforms: Platforms, now: datetime) -> bool:
    last = platforms.sent(mark.student, mark.lab)
    return last is None or not last.done or not last.says(_word(mark, now))


def _send_lab(
    book: Gradebook,
    marks: Sequence[Mark],
    subs: Mapping[str, str],
    grades: Grades,
    platforms: Platforms,
    clock: Clock,
) -> Iterator[Told]:
    lab = marks[0].lab
    item = grades.item(lab, book.title(lab), marks[0].possible)
    shown: Mapping[str, Result] | None = None
    for mark in marks:
        last = platforms.sent(mark.student, lab)
        word = _word(mark, clock.now())
        sub = subs[mark.student]
        if last is not None and not last.done and last.says(word):
            shown = grades.results(item) if shown is None else shown
            word = last
            if sub in shown and _shows(shown[sub], last):
                platforms.end_sending(mark.student, lab, last.made)
                yield Told(f"{_line(mark)}: had arrived")
                continue
        else:
            platforms.begin_sending(word)
        try:
            grades.put(item, sub, word, mark.attempt.submitted if mark.attempt else None)
        except NotTaken as error:
            yield Told(f"{_line(mark)}: {error.line}", failed=True)
            continue
        platforms.end_sending(mark.student, lab, word.made)
        yield Told(f"{_line(mark)}: sent", sent=True)


def _word(mark: Mark, now: datetime) -> Sent:
    points = round(mark.points or 0.0, 4)
    comment = visible_line(mark.why, LONGEST_COMMENT)
    return Sent(mark.student, mark.lab, points, mark.possible, comment, now)


def _shows(result: Result, word: Sent) -> bool:
    if result.points is None or not result.possible or result.comment != word.comment:
        return False
    return abs(result.points / result.possible - word.points / word.possible) < 1e-6


def _line(mark: Mark) -> str:
    return f"{mark.student}, {mark.lab}: {number(mark.points or 0.0)} of {number(mark.possible)}"
