"""Hand-ins and who grades them, on SQLite and PostgreSQL.

SQLite lets one transaction write at a time. On PostgreSQL whoever changes a student's hand-ins
locks the student first; a claim passes over students that are locked, so it waits for nobody. Two
indexes keep what holds in any case: one running of a student, one waiting of a student and lab.
"""

from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from grader.course.database.records import SERVICE
from grader.course.database.store import Store, insert_if_new
from grader.errors import StoreError
from grader.extras import needs
from grader.service.adapters.database.line import LOCK, DatabaseLine, is_in
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
    from sqlalchemy import Select, exists, func, select, update
    from sqlalchemy.orm import Session, aliased

    from grader.course.database import tables as t
    from grader.course.database.service_tables import HandInRow as Row

NAMES = [field.name for field in fields(HandIn)]
COLUMNS = [getattr(Row, name) for name in NAMES]


class DatabaseQueue(DatabaseLine[Row, HandIn]):
    """Implements ``ports.store.Queue``."""

    def __init__(self, course: Store) -> None:
        self._course = course

    def receive(self, work: Work, path: str, check: Check) -> HandIn:
        """Take work in and queue it, unless ``check`` raises."""
        with self._course.writing() as session:
            _hold(session, work.student)
            check(_found(session, _listed(work.student, work.lab)))
            waits = Row.student == work.student, Row.lab == work.lab, is_in(Row, State.WAITING)
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
        is_open = is_in(Row, State.WAITING) | is_in(Row, State.RUNNING)
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

    def sweep(
        self, now: datetime, silence: timedelta, most: int, gone: Gone = nobody
    ) -> list[HandIn]:
        """Take back what runs but was not heard of for ``silence``, or whose worker is ``gone``."""
        columns = select(Row.number, Row.worker, Row.beat)
        found: list[HandIn] = []
        with self._course.reading() as session:
            rows = columns.where(is_in(Row, State.RUNNING)).order_by(Row.student)
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
                row = self._own(session, number, worker)
                item = None if row is None else _record(row)
                why = abandoned(item, now, silence, gone=worker in ended) if item else ""
                if row is not None and item is not None and why:
                    found.append(self._give_back(session, row, tried(item, why, now, most)))
        return sorted(found, key=lambda item: item.number)

    def requeue(self, number: int) -> bool:
        """Let a held hand-in wait again."""
        with self._course.writing() as session:
            row = self._locked(session, number)
            if row is None or row.state != State.HELD:
                return False
            item = replace(_record(row), state=State.WAITING, tries=0, ended=None)
            self._give_back(session, row, item)
            return True

    def begun(self, since: datetime) -> list[Begun]:
        """Return what began since then, by its start."""
        columns = (Row.device, Row.received, Row.started, Row.ended, Row.state)
        rows = select(*columns).where(Row.started >= since).order_by(Row.started, Row.number)
        with self._course.reading() as session:
            return [_begun(*row) for row in session.execute(rows)]

    def _next(self, device: str, since: datetime) -> Select[Any]:
        """Select what runs next, and on PostgreSQL lock it and its student."""
        other = aliased(Row)
        runs = exists().where(other.student == Row.student, is_in(other, State.RUNNING))
        lately = other.student == Row.student, other.started >= since
        begun = select(func.count()).select_from(other).where(*lately).scalar_subquery()
        return (
            select(Row)
            .join(t.StudentRow, t.StudentRow.id == Row.student)
            .where(is_in(Row, State.WAITING), Row.device == device, ~runs)
            .order_by(begun, Row.number)
            .limit(1)
            # The student first: whoever finds them taken has locked no work that others pass by.
            .with_for_update(of=[t.StudentRow, Row], skip_locked=True, **LOCK)
        )

    def _locked(self, session: Session, number: int) -> Row | None:
        """Lock a hand-in, and before it its student."""
        student = session.scalar(select(Row.student).where(Row.number == number))
        if student is None:
            return None
        _hold(session, student)
        return session.get(Row, number, with_for_update=LOCK)

    def _item(self, session: Session, row: Row) -> HandIn:
        return _record(row)

    def _run(self, session: Session, row: Row, now: datetime) -> str:
        return _run(session, row.lab, now)

    def _give_back(self, session: Session, row: Row, item: HandIn) -> HandIn:
        """Keep what ``item`` says of a row, unless something newer waits in its place."""
        waits = Row.student == row.student, Row.lab == row.lab, is_in(Row, State.WAITING)
        other = session.scalars(select(Row).where(*waits).with_for_update(**LOCK)).first()
        if other is not None and other.number > row.number:
            item = superseded(item, other.received)
        elif other is not None and item.state is State.WAITING:
            other.state, other.ended = State.SUPERSEDED, item.received
            session.flush()
        for name in ("state", "tries", "started", "ended", "failure"):
            setattr(row, name, getattr(item, name))
        return item


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


def _hold(session: Session, student: str) -> None:
    """Let nobody else change a student's hand-ins until this transaction ends."""
    if session.get(t.StudentRow, student, with_for_update=LOCK) is None:
        raise StoreError(f"the course database knows no student {student!r}", "collect first")


def _run(session: Session, lab: str, now: datetime) -> str:
    """Return the service's run of a lab, which an index lets be there once."""
    runs = select(t.RunRow.id).where(t.RunRow.lab == lab, t.RunRow.note == SERVICE)
    found = session.scalar(runs)
    if found is None:
        values = {"lab": lab, "started": now, "note": SERVICE}
        session.execute(insert_if_new(session, t.RunRow, values))
        found = session.scalars(runs).one()
    return found
