"""What goes back to students, as frozen data. Every moment is a datetime that knows its zone."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

REASON = range(10, 2001)  # characters of a request
HELD_BACK = "held back by the course, ask your instructor"  # what a student is told


@dataclass(frozen=True, slots=True)
class Request:
    """A student's wish that one task, or one test of it, is looked at again; never changed."""

    student: str
    lab: str
    commit: str  # of the attempt, as the gradebook knows the work
    task: str
    test: str  # "": the whole task
    points: float  # of the attempt when it was asked
    task_points: float
    reason: str
    author: str  # the student, or who of the staff wrote it down
    made: datetime
    number: int = field(default=0, compare=False)  # its own, once recorded

    @property
    def what(self) -> str:
        """What is to be looked at, in words."""
        return f"{self.task}, {self.test}" if self.test else self.task


class Ending(StrEnum):
    """How a request ends, once."""

    ANSWERED = "answered"
    WITHDRAWN = "withdrawn"


@dataclass(frozen=True, slots=True)
class Answer:
    """The end of a request; never changed."""

    request: int
    kind: Ending
    author: str
    text: str
    made: datetime
    run: str | None = None  # the regrade that was asked for
    before: float | None = None  # the mark as it was
    after: float | None = None  # the mark as it was corrected; None: it was not


@dataclass(frozen=True, slots=True)
class Asked:
    """A request, and its end if it has one."""

    request: Request
    answer: Answer | None = None

    @property
    def state(self) -> str:
        """Where it is: "open", "answered" or "withdrawn"."""
        return self.answer.kind if self.answer else "open"


@dataclass(frozen=True, slots=True)
class Hold:
    """A person's word that nothing of a student's lab goes out, or does again; the newest holds."""

    student: str
    lab: str
    holds: bool
    author: str
    reason: str
    made: datetime


def held(words: Iterable[Hold]) -> dict[tuple[str, str], Hold]:
    """Return what is held back, by student and lab, of words in the order of their recording."""
    newest = {(word.student, word.lab): word for word in words}
    return {key: word for key, word in newest.items() if word.holds}


class Way(StrEnum):
    """How a report is given back."""

    BRANCH = "branch"
    MAIL = "mail"


class Step(StrEnum):
    """How far the giving of a report is: begun before anything leaves, then one of the others."""

    BEGUN = "begun"
    SENT = "sent"
    FAILED = "failed"  # certainly did not arrive


@dataclass(frozen=True, slots=True)
class Given:
    """One step of giving a report back; never changed."""

    student: str
    lab: str
    way: Way
    step: Step
    digest: str  # of what is given
    place: str  # the mail's address, or the commit of the branch
    told: str  # why it failed
    made: datetime


@dataclass(frozen=True, slots=True)
class Address:
    """A secret address of one student's report, of which the hash alone is kept."""

    hash: str = field(repr=False)
    student: str
    lab: str
    author: str
    made: datetime
    revoked: datetime | None = None
