"""What the service keeps beside attempts and marks. Every moment is a datetime with its zone."""

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

HAND_IN = "handin-"  # what the "commit" of an attempt begins with; the number follows
REGRADING = "regrading-"  # what the name of such a grading begins with; its number follows
SHOWN_HASH = 12  # characters of a hash that are shown


def number_of(commit: str) -> str:
    """Return the number of the hand-in that an attempt's "commit" names; "" of other work."""
    count = commit.removeprefix(HAND_IN)
    return count if count != commit and count.isdecimal() else ""


class State(StrEnum):
    """Where a hand-in is on its way; ``GRADED``, ``SUPERSEDED`` and ``HELD`` are ends."""

    WAITING = "waiting"
    RUNNING = "running"
    GRADED = "graded"
    SUPERSEDED = "superseded"  # by a newer one of the same student and lab, before it ran
    HELD = "held"  # our fault, again and again: for a person to look at


class Role(StrEnum):
    """What a token lets its bearer do; each may do what the one before may, but hand in."""

    STUDENT = "student"
    ASSISTANT = "assistant"
    INSTRUCTOR = "instructor"


class Origin(StrEnum):
    """The way by which work came."""

    TERMINAL = "terminal"
    WEB = "web"
    NOTEBOOK = "notebook"
    GIT = "git"


@dataclass(frozen=True, slots=True)
class Work:
    """What a student hands in, before it has a number."""

    student: str
    lab: str  # such as "01_llama"
    files: Mapping[str, bytes] = field(repr=False)  # the allow-listed ones, by name
    sha256: str  # over names and bytes
    received: datetime
    origin: Origin
    device: str = "cpu"  # where it is to be graded: "cpu" or "cuda"
    note: str = ""  # for the student: what was left out of a notebook, say
    commit: str = ""  # of the student's repository, where it came by git


@dataclass(frozen=True, slots=True)
class HandIn:
    """Work that was taken; its number is on the student's receipt."""

    number: int
    student: str
    lab: str
    sha256: str
    received: datetime
    origin: Origin
    device: str
    note: str
    commit: str
    path: str  # the folder with the files, from that of the course
    state: State
    tries: int = 0  # gradings that were begun
    worker: str = ""  # who grades it, or did last
    beat: datetime | None = None  # when the worker was last heard of
    started: datetime | None = None
    ended: datetime | None = None
    failure: str = ""  # what of ours went wrong last

    @property
    def key(self) -> str:
        """The "commit" under which the gradebook has its gradings: once for each number."""
        return f"{HAND_IN}{self.number}"

    @property
    def work(self) -> str:
        """The "commit" under which the gradebook has it."""
        return self.key

    @property
    def is_open(self) -> bool:
        """Whether something will still happen to it."""
        return self.state in (State.WAITING, State.RUNNING)


@dataclass(frozen=True, slots=True)
class Begun:
    """How long a hand-in waited for its grading, and how long that took; None: it has not ended."""

    device: str
    waited: timedelta
    took: timedelta | None


@dataclass(frozen=True, slots=True)
class Regrading:
    """Work that has a grading and gets another one, in a run of its own; no student sees it run."""

    number: int
    run: str
    student: str
    lab: str
    commit: str  # as the gradebook knows the work
    path: str  # the folder with the files, from that of the course; "": it is gone
    received: datetime | None
    device: str
    state: State
    tries: int = 0
    worker: str = ""
    beat: datetime | None = None
    started: datetime | None = None
    ended: datetime | None = None
    failure: str = ""
    seed: int | None = None  # that it is graded by; None: any

    @property
    def key(self) -> str:
        """The name of this grading among all that are made."""
        return f"{REGRADING}{self.number}"

    @property
    def work(self) -> str:
        """The "commit" under which the gradebook has it."""
        return self.commit

    @property
    def is_open(self) -> bool:
        """Whether something will still happen to it."""
        return self.state in (State.WAITING, State.RUNNING)


@dataclass(frozen=True, slots=True)
class Event:
    """A step of a grading, for who watches; ``id`` grows with time over all hand-ins."""

    id: int
    hand_in: int
    kind: str  # "begun", "task", "again", "graded", "held", "superseded"
    data: Mapping[str, object]
    made: datetime


@dataclass(frozen=True, slots=True)
class Token:
    """A right to come in, of which the secret's hash alone is kept."""

    id: int
    hash: str = field(repr=False)
    owner: str  # a student's id, or the name of one of the staff
    role: Role
    made: datetime
    revoked: datetime | None = None


@dataclass(frozen=True, slots=True)
class Session:
    """A browser that came in with a token; its secret's hash alone is kept."""

    hash: str = field(repr=False)
    token: int
    csrf: str = field(repr=False)
    made: datetime
    ends: datetime


@dataclass(frozen=True, slots=True)
class Alias:
    """The name by which a student stands on the leaderboard of a lab; "" takes them off it."""

    student: str
    lab: str
    name: str

    @property
    def key(self) -> str:
        """What no two names on a board share: people take names of one key for the same."""
        return unicodedata.normalize("NFKC", self.name).casefold()


@dataclass(frozen=True, slots=True)
class Who:
    """Whoever asks: an id of the roster or a name of the staff, and the role."""

    name: str
    role: Role

    @property
    def is_staff(self) -> bool:
        """Whether they may see the work of others."""
        return self.role is not Role.STUDENT
