"""Hand-ins and who grades them, on SQLite and PostgreSQL.

SQLite lets one transaction write at a time. On PostgreSQL whoever changes a student's hand-ins
locks the student first; a claim passes over students that are locked, so it waits for nobody. Two
indexes keep what holds in any case: one running of a student, one waiting of a student and lab.
"""

from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from grader.course.database.records import SERVICE, Attempt
from grader.course.database.store import Store, insert_attempt, insert_if_new
from grader.errors import StoreError
from grader.extras import needs
from grader.service.domain.records import HAND_IN, Begun, HandIn, Origin, State, Work
from grader.service.domain.turns import (
    LATELY,
    abandoned,
    beginning,
    in_turn,
    superseded,
    taken,
    tried,
)
from grader.service.ports.store import Check, Gone, nobody

with needs("course"):
    from sqlalchemy import ColumnElement, Select, exists, func, literal, select, update
    from sqlalchemy.exc import IntegrityError
    from sqlalchemy.orm import Session, aliased

    from grader.course.database import tables as t
    from grader.course.database.service_tables import HandInRow as Row

LOCK: dict[str, Any] = {"key_share": True}  # rows that refer to a locked one may be added
NAMES = [field.name for field in fields(HandIn)]
COLUMNS = [getattr(Row, name) for name in NAMES]


class DatabaseQueue:
    """Implements ``ports.store.Queue``."""

    def __init__(self, course: Store) -> None:
        self._course = course

    def receive(self, work: Work, path: str, check: Check) -> HandIn:
        """Take work in and queue it, unless ``check`` raises."""
        with self._course.writing() as session:
            _hold(session, work.student)
            check(_found(session, _listed(work.student, work.lab)))
            waits = Row.student == work.student, Row.lab == work.lab, _is(Row, State.WAITING)
            values = {"state": State.SUPERSEDED, "ended": work.received}
            session.execute(update(Row).where(*waits).values(values))
            row = _row(work, path)
            session.add(row)
            session.flush()
            session.add(_collected(work, row.number, path))
            return _record(row)

    def hand_in(self, number: int) -> HandIn | None:
        """Return a hand-in by its number."""
        with self._course.reading() as session:
            row = session.get(Row, number)
            return None if row is None else _record(row)

    def hand_ins(self, student: str | None = None, lab: str | None = None) -> list[HandIn]:
        """List hand-ins, by number."""
        with self._course.reading() as session:
            return _found(session, _listed(student, lab))

    def queued(self, now: datetime | None = None, lately: timedelta = LATELY) -> list[HandIn]:
        """List what waits in its order, then what runs by its start."""
        since = (now or datetime.now(UTC)) - lately
        is_open = _is(Row, State.WAITING) | _is(Row, State.RUNNING)
        counts = select(Row.student, func.count()).where(Row.started >= since)
        with self._course.reading() as session:
            # Columns, not rows that a session tracks: thousands may wait.
            found = session.execute(select(*COLUMNS).where(is_open))
            items = [_item(dict(zip(NAMES, values, strict=True))) for values in found]
            rows = session.execute(counts.group_by(Row.student))
            begun = {student: count for student, count in rows}
        waiting = [item for item in items if item.state is State.WAITING]
        running = sorted((i for i in items if i.state is State.RUNNING), key=beginning)
        return [*in_turn(waiting, begun, {item.student for item in running}), *running]

    def claim(self, worker: str, device: str, now: datetime, lately: timedelta) -> HandIn | None:
        """Give a worker what runs next on a device."""
        with self._course.writing() as session:
            row: Row | None
            while (row := session.scalar(_next(device, now - lately))) is not None:
                try:
                    with session.begin_nested():
                        row.state, row.worker = State.RUNNING, worker
                        row.tries, row.beat, row.started = row.tries + 1, now, now
                    return _record(row)
                except IntegrityError:
                    continue  # one of the same student was begun after this looked
        return None

    def beat(self, number: int, worker: str, now: datetime) -> bool:
        """Say that a worker still grades."""
        with self._course.writing() as session:
            row = _own(session, number, worker)
            if row is not None:
                row.beat = now
            return row is not None

    def finish(self, number: int, worker: str, attempt: Attempt, now: datetime) -> bool:
        """Record a grading and its end in one."""
        with self._course.writing() as session:
            row = _own(session, number, worker)
            if row is None:
                return False
            insert_attempt(session, replace(attempt, run=_run(session, row.lab, now)))
            row.state, row.ended = State.GRADED, now
            return True

    def fail(self, number: int, worker: str, why: str, now: datetime, most: int) -> HandIn | None:
        """End a grading that failed by our fault."""
        with self._course.writing() as session:
            row = _own(session, number, worker)
            if row is None:
                return None
            return _give_back(session, row, tried(_record(row), why, now, most))

    def release(self, number: int, worker: str) -> bool:
        """Give back what a shutdown interrupts."""
        with self._course.writing() as session:
            row = _own(session, number, worker)
            if row is not None:
                item = _record(row)
                fresh = replace(item, state=State.WAITING, tries=item.tries - 1, started=None)
                _give_back(session, row, fresh)
            return row is not None

    def sweep(
        self, now: datetime, silence: timedelta, most: int, gone: Gone = nobody
    ) -> list[HandIn]:
        """Take back what runs but was not heard of for ``silence``, or whose worker is ``gone``."""
        columns = select(Row.number, Row.worker, Row.beat)
        found: list[HandIn] = []
        with self._course.reading() as session:
            rows = columns.where(_is(Row, State.RUNNING)).order_by(Row.student)
            running = session.execute(rows).all()
        ended = {worker for worker in {worker for _, worker, _ in running} if gone(worker)}
        stalled = [
            (number, worker)
            for number, worker, beat in running
            if worker in ended or (beat is not None and beat <= now - silence)
        ]
        if not stalled:
            return []
        with self._course.writing() as session:
            for number, worker in stalled:
                row = _own(session, number, worker)
                item = None if row is None else _record(row)
                why = abandoned(item, now, silence, gone=worker in ended) if item else ""
                if row is not None and item is not None and why:
                    found.append(_give_back(session, row, tried(item, why, now, most)))
        return sorted(found, key=lambda item: item.number)

    def requeue(self, number: int) -> bool:
        """Let a held hand-in wait again."""
        with self._course.writing() as session:
            row = _locked(session, number)
            if row is None or row.state != State.HELD:
                return False
            item = replace(_record(row), state=State.WAITING, tries=0, ended=None)
            _give_back(session, row, item)
            return True

    def begun(self, since: datetime) -> list[Begun]:
        """Return what began since then, by its start."""
        columns = (Row.device, Row.received, Row.started, Row.ended, Row.state)
        rows = select(*columns).where(Row.started >= since).order_by(Row.started, Row.number)
        with self._course.reading() as session:
            return [_begun(*row) for row in session.execute(rows)]


def _row(work: Work, path: str) -> Row:
    item = taken(work, path, 0)
    return Row(**{name: getattr(item, name) for name in NAMES if name != "number"})


def _collected(work: Work, number: int, path: str) -> t.FrozenRow:
    """Return what the gradebook knows of a hand-in."""
    return t.FrozenRow(
        student=work.student,
        lab=work.lab,
        commit=f"{HAND_IN}{number}",
        committed=work.received,
        collected=work.received,
        path=path,
        problem="",
    )


def _record(row: Row) -> HandIn:
    return _item({name: getattr(row, name) for name in NAMES})


def _item(values: dict[str, Any]) -> HandIn:
    values["state"], values["origin"] = State(values["state"]), Origin(values["origin"])
    return HandIn(**values)


def _begun(
    device: str, received: datetime, started: datetime | None, ended: datetime | None, state: str
) -> Begun:
    assert started is not None  # since that is what was asked for
    took = ended - started if ended is not None and state == State.GRADED else None
    return Begun(device, started - received, took)


def _found(session: Session, rows: Select[Any]) -> list[HandIn]:
    return [_record(row) for row in session.scalars(rows)]


def _listed(student: str | None, lab: str | None) -> Select[Any]:
    rows = select(Row).order_by(Row.number)
    rows = rows if student is None else rows.where(Row.student == student)
    return rows if lab is None else rows.where(Row.lab == lab)


def _is(row: type[Row], state: State) -> ColumnElement[bool]:
    # Written out, not bound: only so can SQLite use the index on what is in this state.
    return row.state == literal(state.value, literal_execute=True)


def _next(device: str, since: datetime) -> Select[Any]:
    """Select what runs next, and on PostgreSQL lock it and its student."""
    other = aliased(Row)
    runs = exists().where(other.student == Row.student, _is(other, State.RUNNING))
    lately = other.student == Row.student, other.started >= since
    begun = select(func.count()).select_from(other).where(*lately).scalar_subquery()
    return (
        select(Row)
        .join(t.StudentRow, t.StudentRow.id == Row.student)
        .where(_is(Row, State.WAITING), Row.device == device, ~runs)
        .order_by(begun, Row.number)
        .limit(1)
        # The student first: whoever finds them taken has locked no work that others then pass by.
        .with_for_update(of=[t.StudentRow, Row], skip_locked=True, **LOCK)
    )


def _hold(session: Session, student: str) -> None:
    """Let nobody else change a student's hand-ins until this transaction ends."""
    if session.get(t.StudentRow, student, with_for_update=LOCK) is None:
        raise StoreError(f"the course database knows no student {student!r}", "collect first")


def _locked(session: Session, number: int) -> Row | None:
    """Lock a hand-in, and before it its student."""
    student = session.scalar(select(Row.student).where(Row.number == number))
    if student is None:
        return None
    _hold(session, student)
    return session.get(Row, number, with_for_update=LOCK)


def _own(session: Session, number: int, worker: str) -> Row | None:
    """Lock a hand-in if that worker grades it."""
    row = _locked(session, number)
    return row if row and (row.state, row.worker) == (State.RUNNING, worker) else None


def _give_back(session: Session, row: Row, item: HandIn) -> HandIn:
    """Keep what ``item`` says of a row, unless something newer waits in its place."""
    waits = Row.student == row.student, Row.lab == row.lab, _is(Row, State.WAITING)
    other = session.scalars(select(Row).where(*waits).with_for_update(**LOCK)).first()
    if other is not None and other.number > row.number:
        item = superseded(item, other.received)
    elif other is not None and item.state is State.WAITING:
        other.state, other.ended = State.SUPERSEDED, item.received
        session.flush()
    for name in ("state", "tries", "started", "ended", "failure"):
        setattr(row, name, getattr(item, name))
    return item


def _run(session: Session, lab: str, now: datetime) -> str:
    """Return the service's run of a lab, which an index lets be there once."""
    runs = select(t.RunRow.id).where(t.RunRow.lab == lab, t.RunRow.note == SERVICE)
    found = session.scalar(runs)
    if found is None:
        values = {"lab": lab, "started": now, "note": SERVICE}
        session.execute(insert_if_new(session, t.RunRow, values))
        found = session.scalars(runs).one()
    return found
