"""What hand-ins and regradings share in the store without a disk: their way through a grading."""

import threading
from abc import ABC, abstractmethod
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Generic

from grader.course.database.records import Attempt
from grader.service.domain.records import State
from grader.service.domain.turns import Graded, abandoned, tried
from grader.service.ports.store import Gone, nobody


class MemoryLine(ABC, Generic[Graded]):
    """Implements what ``ports.store.Line`` has beside ``claim``."""

    def __init__(self, lock: threading.RLock) -> None:
        self._lock = lock
        self._items: dict[int, Graded] = {}

    def beat(self, number: int, worker: str, now: datetime) -> bool:
        """Say that a worker still grades."""
        with self._lock:
            item = self._own(number, worker)
            if item is not None:
                self._put(replace(item, beat=now))
            return item is not None

    def finish(self, number: int, worker: str, attempt: Attempt, now: datetime) -> bool:
        """Record a grading and its end in one."""
        with self._lock:
            item = self._own(number, worker)
            if item is not None:
                self._record(item, attempt)
                self._put(replace(item, state=State.GRADED, ended=now))
            return item is not None

    def fail(self, number: int, worker: str, why: str, now: datetime, most: int) -> Graded | None:
        """End a grading that failed by our fault."""
        with self._lock:
            item = self._own(number, worker)
            return None if item is None else self._failed(item, why, now, most)

    def release(self, number: int, worker: str) -> bool:
        """Give back what a shutdown interrupts."""
        with self._lock:
            item = self._own(number, worker)
            if item is not None:
                fresh = replace(item, state=State.WAITING, tries=item.tries - 1, started=None)
                self._give_back(fresh)
            return item is not None

    def sweep(
        self, now: datetime, silence: timedelta, most: int, gone: Gone = nobody
    ) -> list[Graded]:
        """Take back what runs but was not heard of for ``silence``, or whose worker is ``gone``."""
        with self._lock:
            found: list[Graded] = []
            for item in self._in(State.RUNNING):
                why = abandoned(item, now, silence, gone=gone(item.worker))
                if why:
                    found.append(self._failed(item, why, now, most))
            return found

    @abstractmethod
    def _record(self, item: Graded, attempt: Attempt) -> None:
        """Keep the attempt of an item, in the run that it belongs to."""

    def _failed(self, item: Graded, why: str, now: datetime, most: int) -> Graded:
        return self._give_back(tried(item, why, now, most))

    def _give_back(self, item: Graded) -> Graded:
        return self._put(item)

    def _begin(self, item: Graded, worker: str, now: datetime) -> Graded:
        begun = replace(item, state=State.RUNNING, worker=worker, beat=now, started=now)
        return self._put(replace(begun, tries=item.tries + 1))

    def _in(self, state: State) -> list[Graded]:
        return [item for item in self._items.values() if item.state is state]

    def _own(self, number: int, worker: str) -> Graded | None:
        item = self._items.get(number)
        is_own = item is not None and item.state is State.RUNNING and item.worker == worker
        return item if is_own else None

    def _put(self, item: Graded) -> Graded:
        self._items[item.number] = item
        return item
