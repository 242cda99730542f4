"""A store without a disk, for tests of the service: one lock, and everything in lists."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from grader.course.database.records import Attempt, Grant, Kind, Override, Student
from grader.errors import StoreError
from grader.service.adapters.memory_doors import MemoryDoors
from grader.service.adapters.memory_likeness import MemoryLikenesses
from grader.service.adapters.memory_line import MemoryLine
from grader.service.adapters.memory_reading import MemoryReading
from grader.service.adapters.memory_regradings import MemoryRegradings
from grader.service.adapters.memory_returns import MemoryReturns
from grader.service.domain.records import Alias, Begun, Event, HandIn, State, Work
from grader.service.domain.turns import LATELY, beginning, in_turn, superseded, taken
from grader.service.ports.store import Check

RUN = "service-"  # what a run is called here; the name of the lab follows


class MemoryStore(MemoryLine[HandIn], MemoryDoors):
    """Implements ``ports.store.Store`` for one process; gone when it ends."""

    def __init__(self, students: Sequence[Student], attempts: Sequence[Attempt] = ()) -> None:
        MemoryDoors.__init__(self)
        MemoryLine.__init__(self, self._lock)
        self._students = list(students)
        self.granted: list[Grant] = []
        self._attempts = list(attempts)
        self._events: list[Event] = []
        self._last_event = 0
        self._aliases: dict[tuple[str, str], Alias] = {}  # by lab and student
        self.overrides: list[Override] = []
        self.returns = MemoryReturns(self._lock, self.overrides.append)
        self.alike = MemoryLikenesses(self._lock)
        self.regradings = MemoryRegradings(
            self._lock, self._work, self._busy, self._attempts.append
        )

        self.reading = MemoryReading(self._lock, self._students, self.attempts)

    def receive(self, work: Work, path: str, check: Check) -> HandIn:
        """Take work in and queue it, unless ``check`` raises."""
        with self._lock:
            if work.student not in {student.id for student in self._students}:
                raise StoreError(f"no student {work.student!r} is known")
            check(self.hand_ins(work.student, work.lab))
            before = self._waiting_like(work.student, work.lab)
            if before is not None:
                self._put(superseded(before, work.received))
            return self._put(taken(work, path, len(self._items) + 1))

    def hand_in(self, number: int) -> HandIn | None:
        """Return a hand-in by its number."""
        with self._lock:
            return self._items.get(number)

    def hand_ins(self, student: str | None = None, lab: str | None = None) -> list[HandIn]:
        """List hand-ins, by number."""
        with self._lock:
            items = self._items.values()
            return [i for i in items if student in (None, i.student) and lab in (None, i.lab)]

    def queued(self, now: datetime | None = None, lately: timedelta = LATELY) -> list[HandIn]:
        """List what waits in its order, then what runs by its start."""
        with self._lock:
            since = (now or datetime.now(UTC)) - lately
            running = sorted(self._in(State.RUNNING), key=beginning)
            begun = Counter(i.student for i in self._begun(since))
            waiting = in_turn(self._in(State.WAITING), begun, {i.student for i in running})
            return [*waiting, *running]

    def claim(self, worker: str, device: str, now: datetime, lately: timedelta) -> HandIn | None:
        """Give a worker what runs next on a device."""
        with self._lock:
            busy = self._busy()
            for item in self.queued(now, lately):
                if item.device == device and item.student not in busy:
                    return self._begin(item, worker, now)
            return None

    def requeue(self, number: int) -> bool:
        """Let a held hand-in wait again."""
        with self._lock:
            item = self._items.get(number)
            if item is None or item.state is not State.HELD:
                return False
            self._give_back(replace(item, state=State.WAITING, tries=0, ended=None))
            return True

    def begun(self, since: datetime) -> list[Begun]:
        """Return what began since then, by its start."""
        with self._lock:
            found: list[Begun] = []
            for item in sorted(self._begun(since), key=beginning):
                assert item.started is not None  # since it was begun
                ended = item.ended if item.state is State.GRADED else None
                took = ended - item.started if ended else None
                found.append(Begun(item.device, item.started - item.received, took))
            return found

    def tell(self, number: int, kind: str, data: Mapping[str, object], now: datetime) -> Event:
        """Add an event of a hand-in."""
        with self._lock:
            self._check(number)
            self._last_event += 1
            event = Event(self._last_event, number, kind, dict(data), now)
            self._events.append(event)
            return event

    def events(self, number: int, after: int = 0, most: int = 1000) -> list[Event]:
        """List a hand-in's events with an id above ``after``, oldest first."""
        with self._lock:
            found = [e for e in self._events if e.hand_in == number and e.id > after]
            return found[:most]

    def forget(self, before: datetime) -> int:
        """Remove events of hand-ins that ended before a moment, and marks of older deliveries."""
        with self._lock:
            ends = {i.number: i.ended for i in self._items.values() if i.ended is not None}
            kept = [e for e in self._events if e.hand_in not in ends or ends[e.hand_in] >= before]
            count = len(self._events) - len(kept)
            self._events = kept
            old = {id for id, received in self._deliveries.items() if received < before}
            self._deliveries = {id: at for id, at in self._deliveries.items() if id not in old}
            return count + len(old)

    def put_alias(self, alias: Alias) -> bool:
        """Choose a student's name on a board; False if somebody else has it there."""
        with self._lock:
            taken = {a.key for a in self.aliases(alias.lab) if a.student != alias.student}
            if alias.name and alias.key in taken:
                return False
            self._aliases[alias.lab, alias.student] = alias
            return True

    def aliases(self, lab: str) -> list[Alias]:
        """List who is on the board of a lab, by name."""
        with self._lock:
            found = [a for a in self._aliases.values() if a.lab == lab and a.name]
            return sorted(found, key=lambda alias: alias.name)

    def students(self) -> list[Student]:
        """The roster, in its order."""
        return list(self._students)

    def grants(self) -> list[Grant]:
        """Extensions and waivers, in the order in which they were recorded."""
        return list(self.granted)

    def attempts(
        self, lab: str | None = None, student: str | None = None, run: str | None = None
    ) -> list[Attempt]:
        """The attempts that fit, in the order in which they were recorded."""
        with self._lock:
            said = self.regradings.decisions()
            kinds = {kind: {word.run for word in said if word.kind is kind} for kind in Kind}
            unpublished = kinds[Kind.ASKED] - kinds[Kind.PUBLISHED] if run is None else set[str]()
            fits = [a for a in self._attempts if lab in (None, a.lab) and run in (None, a.run)]
            fits = [attempt for attempt in fits if attempt.run not in unpublished]
            return [attempt for attempt in fits if student in (None, attempt.student)]

    def _work(self, student: str, commit: str) -> HandIn | None:
        found = (item for item in self._items.values() if item.key == commit)
        return next((item for item in found if item.student == student), None)

    def _record(self, item: HandIn, attempt: Attempt) -> None:
        self._attempts.append(replace(attempt, run=f"{RUN}{item.lab}"))

    def _busy(self) -> set[str]:
        return {item.student for item in self._in(State.RUNNING)}

    def _begun(self, since: datetime) -> list[HandIn]:
        items = self._items.values()
        return [item for item in items if item.started is not None and item.started >= since]

    def _waiting_like(self, student: str, lab: str) -> HandIn | None:
        items = self._in(State.WAITING)
        return next((i for i in items if (i.student, i.lab) == (student, lab)), None)

    def _give_back(self, item: HandIn) -> HandIn:
        """Keep what became of a grading, unless something newer waits in its place."""
        other = self._waiting_like(item.student, item.lab)
        if other is not None and other.number > item.number:
            return self._put(superseded(item, other.received))
        if other is not None and item.state is State.WAITING:
            self._put(superseded(other, item.received))
        return self._put(item)

    def _check(self, number: int) -> None:
        if number not in self._items:
            raise StoreError(f"no hand-in {number} is known")
