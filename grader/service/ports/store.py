"""What the rules need of a store: hand-ins with their queue, events, and who may come in.

Each method is one transaction: done and on disk when it returns, or not at all, and then it raises
``StoreError``. Several processes may use one store at once.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Protocol, TypeVar

from grader.course.database.records import Attempt, Decision, Grant, Run, Student
from grader.service.domain.records import (
    Alias,
    Begun,
    Event,
    HandIn,
    Regrading,
    Session,
    State,
    Token,
    Work,
)
from grader.service.domain.turns import LATELY
from grader.service.ports.likeness import Likenesses
from grader.service.ports.reading import Reading
from grader.service.ports.requests import Returns

Graded_co = TypeVar("Graded_co", HandIn, Regrading, covariant=True)
Check = Callable[[Sequence[HandIn]], None]
Gone = Callable[[str], bool]  # whether a worker, by its name, has certainly ended


def nobody(worker: str) -> bool:
    """Know of no worker that it has ended."""
    return False


class Line(Protocol[Graded_co]):
    """What is graded, one after the other, and who grades it.

    Two workers never get the same. A worker's name is its own alone, and new each time it starts.
    """

    def claim(self, worker: str, device: str, now: datetime, lately: timedelta) -> Graded_co | None:
        """Give a worker what runs next on a device; None if nothing can."""
        ...

    def beat(self, number: int, worker: str, now: datetime) -> bool:
        """Say that a worker still grades; False if it is its own no more."""
        ...

    def finish(self, number: int, worker: str, attempt: Attempt, now: datetime) -> bool:
        """Record a grading and its end in one; False, with nothing recorded, if it is not its own.

        The attempt's ``run`` is replaced by the one that it belongs to.
        """
        ...

    def fail(
        self, number: int, worker: str, why: str, now: datetime, most: int
    ) -> Graded_co | None:
        """End a grading that failed by our fault: it waits again, or is held after ``most`` tries.

        None if it is the worker's no more.
        """
        ...

    def release(self, number: int, worker: str) -> bool:
        """Give back what a shutdown interrupts: it waits again, and the try does not count."""
        ...

    def sweep(
        self, now: datetime, silence: timedelta, most: int, gone: Gone = nobody
    ) -> Sequence[Graded_co]:
        """Take back what runs but was not heard of for ``silence``, or whose worker is ``gone``.

        Returns it as it is now.
        """
        ...


class Queue(Line[HandIn], Protocol):
    """Hand-ins and who grades them. One of a student runs at a time, one of each lab waits.

    Next is who has had the fewest gradings begun within ``lately``, of these what came first;
    nobody of whom something runs. A hand-in that is tried again counts once, by its last try. Where
    it would wait again and something newer of the student and lab waits, it is superseded. Its run
    is the service's of the lab, made when first needed.
    """

    def receive(self, work: Work, path: str, check: Check) -> HandIn:
        """Take work in and queue it; what waits of the student in this lab is superseded.

        ``path`` is where its files lie already, from the course's folder. The gradebook knows it
        as collected work, so that ``lab grade-all`` grades it too. ``check`` is given what the
        student has handed in of this lab, while nobody can add to it; if it raises, nothing is
        done.
        """
        ...

    def hand_in(self, number: int) -> HandIn | None:
        """Return a hand-in by its number."""
        ...

    def hand_ins(self, student: str | None = None, lab: str | None = None) -> list[HandIn]:
        """List hand-ins, by number: of all, of one student, of one lab."""
        ...

    def queued(self, now: datetime | None = None, lately: timedelta = LATELY) -> list[HandIn]:
        """List what waits, in the order in which it will run, then what runs by its start.

        It is the order in which ``claim`` gives what waits for a device if each grading ends before
        the next begins; of whom something runs comes last. ``now`` None is this moment.
        """
        ...

    def requeue(self, number: int) -> bool:
        """Let a held hand-in wait again, with no tries; False if it is not held."""
        ...

    def begun(self, since: datetime) -> list[Begun]:
        """Return what began since then, by its start."""
        ...


class Regradings(Line[Regrading], Protocol):
    """Work that is graded once more, each time in a run of its own; no student sees it waiting.

    A regrade is a run that staff ask for: what it found counts once it is published, or never. The
    run of what hidden tests judge after a deadline counts at once. Nothing is claimed of a student
    of whom something runs.
    """

    def ask(
        self,
        lab: str,
        work: Sequence[tuple[str, str]],
        device: str,
        asked: Decision,
        students: Sequence[str] = (),
        seed: int | None = None,
    ) -> str:
        """Queue work, as students and commits, in a new regrade; return its run.

        ``asked`` says who asks and why, whatever its run; ``students`` none: of the whole class.
        ``seed`` None: any.
        """
        ...

    def judge_hidden(self, lab: str, student: str, commit: str, device: str, now: datetime) -> bool:
        """Queue work for the hidden tests after a deadline; False if it was, once."""
        ...

    def judged_hidden(self, lab: str) -> set[tuple[str, str]]:
        """Return the students and commits that were queued for hidden tests after a deadline."""
        ...

    def of_run(self, run: str) -> list[Regrading]:
        """List what a run grades, by number."""
        ...

    def counts(self, run: str | None = None) -> Mapping[State, int]:
        """Return how many there are in each state, of a run or of all."""
        ...

    def runs(self, lab: str | None = None) -> list[Run]:
        """List the regrades of a lab, or of all, oldest first."""
        ...

    def decisions(self, run: str | None = None) -> list[Decision]:
        """List what was said of a regrade, or of all, oldest first."""
        ...

    def decide(self, decision: Decision) -> bool:
        """Publish or discard a regrade; what still waits of one that is discarded is not graded.

        False, and nothing is done, if it was decided, is none, or, to publish it, not all of it has
        ended.
        """
        ...

    def requeue(self, run: str) -> int:
        """Let what is held of an undecided run wait again, with no tries; return how many."""
        ...


class Events(Protocol):
    """Steps of gradings, for who watches."""

    def tell(self, number: int, kind: str, data: Mapping[str, object], now: datetime) -> Event:
        """Add an event of a hand-in."""
        ...

    def events(self, number: int, after: int = 0, most: int = 1000) -> list[Event]:
        """List a hand-in's events with an id above ``after``, oldest first."""
        ...

    def forget(self, before: datetime) -> int:
        """Remove events of hand-ins that ended before a moment, and deliveries noted before it.

        Returns how many rows that were.
        """
        ...


class Doors(Protocol):
    """Who may come in."""

    def add_token(self, hash: str, owner: str, role: str, now: datetime) -> Token:
        """Add a token by the hash of its secret; raises StoreError if the hash is there."""
        ...

    def token(self, hash: str) -> Token | None:
        """Return the token with a hash, unless it was revoked."""
        ...

    def tokens(self) -> list[Token]:
        """List all tokens, those revoked too, oldest first."""
        ...

    def revoke(self, owner: str, now: datetime) -> int:
        """Revoke all tokens of somebody and end their sessions; return how many tokens."""
        ...

    def open_session(self, session: Session) -> None:
        """Let a browser in."""
        ...

    def session(self, hash: str, now: datetime) -> tuple[Session, Token] | None:
        """Return a session that has not ended, with its token if that was not revoked."""
        ...

    def close_session(self, hash: str) -> None:
        """End a session; harmless if there is none."""
        ...

    def first_delivery(self, id: str, now: datetime) -> bool:
        """Note the id of a hook's delivery; False if it was seen before."""
        ...


class Words(Protocol):
    """What students call themselves."""

    def put_alias(self, alias: Alias) -> bool:
        """Choose a student's name on a board; False if somebody else has one of its key there."""
        ...

    def aliases(self, lab: str) -> list[Alias]:
        """List who is on the board of a lab, by name."""
        ...


class Course(Protocol):
    """What of the course database the service reads."""

    def students(self) -> list[Student]:
        """The roster, in its order."""
        ...

    def grants(self) -> Sequence[Grant]:
        """Extensions and waivers, in the order in which they were recorded."""
        ...

    def attempts(
        self, lab: str | None = None, student: str | None = None, run: str | None = None
    ) -> Sequence[Attempt]:
        """The attempts that fit, in the order in which they were recorded.

        Those of a regrade that is not published only where its run is asked for.
        """
        ...


class Store(Queue, Events, Doors, Words, Course, Protocol):
    """All of it, in one place."""

    @property
    def returns(self) -> Returns:
        """What goes back to students."""
        ...

    @property
    def regradings(self) -> Regradings:
        """What is graded once more."""
        ...

    @property
    def alike(self) -> Likenesses:
        """Answers that are alike."""
        ...

    @property
    def reading(self) -> Reading:
        """What people say when they read."""
        ...
