"""What hand-ins and regradings share in the course database: their way through a grading."""

from abc import ABC, abstractmethod
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Generic, TypeVar

from grader.course.database.records import Attempt
from grader.course.database.store import Store, insert_attempt
from grader.extras import needs
from grader.service.domain.records import State
from grader.service.domain.turns import Graded, tried

with needs("course"):
    from sqlalchemy import ColumnElement, Select, literal
    from sqlalchemy.exc import IntegrityError
    from sqlalchemy.orm import Session

    from grader.course.database.service_tables import HandInRow, RegradingRow

Row = TypeVar("Row", HandInRow, RegradingRow)
LOCK: dict[str, Any] = {"key_share": True}  # rows that refer to a locked one may be added


def is_in(row: type[HandInRow | RegradingRow], state: State) -> ColumnElement[bool]:
    """Return the condition that a row is in a state."""
    # Written out, not bound: only so can SQLite use the index on what is in this state.
    return row.state == literal(state.value, literal_execute=True)


class DatabaseLine(ABC, Generic[Row, Graded]):
    """Implements what ``ports.store.Line`` has beside ``sweep``. Whoever changes a row locks it."""

    _course: Store

    def claim(self, worker: str, device: str, now: datetime, lately: timedelta) -> Graded | None:
        """Give a worker what runs next on a device."""
        with self._course.writing() as session:
            row: Row | None
            while (row := session.scalar(self._next(device, now - lately))) is not None:
                try:
                    with session.begin_nested():
                        row.state, row.worker = State.RUNNING, worker
                        row.tries, row.beat, row.started = row.tries + 1, now, now
                    return self._item(session, row)
                except IntegrityError:
                    continue  # one of the same student was begun after this looked
        return None

    def beat(self, number: int, worker: str, now: datetime) -> bool:
        """Say that a worker still grades."""
        with self._course.writing() as session:
            row = self._own(session, number, worker)
            if row is not None:
                row.beat = now
            return row is not None

    def finish(self, number: int, worker: str, attempt: Attempt, now: datetime) -> bool:
        """Record a grading and its end in one."""
        with self._course.writing() as session:
            row = self._own(session, number, worker)
            if row is None:
                return False
            insert_attempt(session, replace(attempt, run=self._run(session, row, now)))
            row.state, row.ended = State.GRADED, now
            return True

    def fail(self, number: int, worker: str, why: str, now: datetime, most: int) -> Graded | None:
        """End a grading that failed by our fault."""
        with self._course.writing() as session:
            row = self._own(session, number, worker)
            return None if row is None else self._failed(session, row, why, now, most)

    def release(self, number: int, worker: str) -> bool:
        """Give back what a shutdown interrupts."""
        with self._course.writing() as session:
            row = self._own(session, number, worker)
            if row is not None:
                item = self._item(session, row)
                fresh = replace(item, state=State.WAITING, tries=item.tries - 1, started=None)
                self._give_back(session, row, fresh)
            return row is not None

    @abstractmethod
    def _next(self, device: str, since: datetime) -> Select[Any]:
        """Select what runs next, and lock it."""

    @abstractmethod
    def _locked(self, session: Session, number: int) -> Row | None:
        """Lock a row, and before it what else it takes."""

    @abstractmethod
    def _item(self, session: Session, row: Row) -> Graded:
        """Return what a row says."""

    @abstractmethod
    def _run(self, session: Session, row: Row, now: datetime) -> str:
        """Return the run to which a row's attempt belongs."""

    @abstractmethod
    def _give_back(self, session: Session, row: Row, item: Graded) -> Graded:
        """Keep what ``item`` says of a row that does not run any more, and return what is kept."""

    def _own(self, session: Session, number: int, worker: str) -> Row | None:
        """Lock a row if that worker grades it."""
        row = self._locked(session, number)
        return row if row and (row.state, row.worker) == (State.RUNNING, worker) else None

    def _failed(self, session: Session, row: Row, why: str, now: datetime, most: int) -> Graded:
        return self._give_back(session, row, tried(self._item(session, row), why, now, most))
