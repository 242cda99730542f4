"""Requests and their answers, holds, reports given back and secret addresses, in the database."""

from collections.abc import Collection
from dataclasses import fields
from datetime import datetime
from typing import Any, TypeVar

from grader.course.database.giving.records import (
    Address,
    Answer,
    Asked,
    Ending,
    Given,
    Hold,
    Request,
    Step,
    Way,
)
from grader.course.database.records import Override
from grader.course.database.store import Store, insert_if_new, insert_override
from grader.extras import needs

with needs("course"):
    from sqlalchemy import Select, select, text, update
    from sqlalchemy.orm import Session

    from grader.course.database.giving import tables as t

Record = TypeVar("Record", Request, Answer, Hold, Given, Address)


class Returns:
    """What goes back to students, on an open course database."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def ask(self, request: Request) -> int | None:
        """Record a request and return its number; None if one of attempt and task is open."""
        values = _values(request)
        del values["number"]  # which the database gives
        same = (t.RequestRow.student == request.student, t.RequestRow.commit == request.commit)
        rows = select(t.RequestRow.number).outerjoin(
            t.AnswerRow, t.AnswerRow.request == t.RequestRow.number
        )
        rows = rows.where(*same, t.RequestRow.lab == request.lab, t.AnswerRow.id.is_(None))
        with self._store.writing() as session:
            _alone(session)
            if session.scalar(rows.where(t.RequestRow.task == request.task)) is not None:
                return None
            row = t.RequestRow(**values)
            session.add(row)
            session.flush()
            return row.number

    def asked(self, student: str | None = None, *, is_open: bool = False) -> list[Asked]:
        """List requests, oldest first: of one student or of all, or those alone that are open."""
        rows = select(t.RequestRow, t.AnswerRow).outerjoin(
            t.AnswerRow, t.AnswerRow.request == t.RequestRow.number
        )
        rows = rows.order_by(t.RequestRow.number)
        rows = rows if student is None else rows.where(t.RequestRow.student == student)
        rows = rows.where(t.AnswerRow.id.is_(None)) if is_open else rows
        with self._store.reading() as session:
            return [
                Asked(_record(Request, row), _answer(end) if end else None)
                for row, end in session.execute(rows)
            ]

    def end(self, answer: Answer, override: Override | None = None) -> bool:
        """Record the end of a request, and with it what is corrected; False if it has ended."""
        with self._store.writing() as session:
            values = _values(answer)
            row = insert_if_new(session, t.AnswerRow, values).returning(t.AnswerRow.id)
            if session.scalar(row) is None:
                return False
            if override is not None:
                insert_override(session, override)
            return True

    def add_hold(self, word: Hold) -> None:
        """Record that something is held back, or no longer."""
        with self._store.writing() as session:
            session.add(t.HoldRow(**_values(word)))

    def holds(self, student: str | None = None) -> list[Hold]:
        """List what was said of one student or of all, oldest first; the newest of each holds."""
        rows = select(t.HoldRow).order_by(t.HoldRow.id)
        rows = rows if student is None else rows.where(t.HoldRow.student == student)
        return self._read(Hold, rows)

    def address(self, hash: str) -> Address | None:
        """Return the address with a hash, unless it was revoked."""
        rows = select(t.AddressRow).where(t.AddressRow.hash == hash)
        found = self._read(Address, rows.where(t.AddressRow.revoked.is_(None)))
        return found[0] if found else None

    def add_address(self, address: Address) -> None:
        """Add a secret address; raises StoreError if its hash is there."""
        with self._store.writing() as session:
            session.add(t.AddressRow(**_values(address)))

    def addresses(self, lab: str) -> list[Address]:
        """List the addresses of a lab that hold, oldest first."""
        rows = select(t.AddressRow).where(t.AddressRow.lab == lab).order_by(t.AddressRow.id)
        return self._read(Address, rows.where(t.AddressRow.revoked.is_(None)))

    def revoke(self, lab: str, students: Collection[str], now: datetime) -> int:
        """Revoke the addresses of some students in a lab; return how many."""
        own = t.AddressRow.lab == lab, t.AddressRow.student.in_(students)
        rows = update(t.AddressRow).where(*own, t.AddressRow.revoked.is_(None))
        with self._store.writing() as session:
            ended = rows.values(revoked=now).returning(t.AddressRow.id)
            return len(session.scalars(ended).all())

    def add_given(self, step: Given) -> None:
        """Record a step of giving a report back."""
        with self._store.writing() as session:
            session.add(t.GivenRow(**_values(step)))

    def given(self, lab: str, way: Way) -> list[Given]:
        """List the steps of a lab by one way, oldest first."""
        rows = select(t.GivenRow).where(t.GivenRow.lab == lab, t.GivenRow.way == way)
        with self._store.reading() as session:
            return [_given(row) for row in session.scalars(rows.order_by(t.GivenRow.id))]

    def _read(self, kind: type[Record], rows: Select[Any]) -> list[Record]:
        with self._store.reading() as session:
            return [_record(kind, row) for row in session.scalars(rows)]


def _values(record: object) -> dict[str, Any]:
    return {field.name: getattr(record, field.name) for field in fields(record)}  # type: ignore[arg-type]


def _record(kind: type[Record], row: object) -> Record:
    return kind(**{field.name: getattr(row, field.name) for field in fields(kind)})


def _answer(row: t.AnswerRow) -> Answer:
    said = (row.author, row.text, row.made, row.run, row.before, row.after)
    return Answer(row.request, Ending(row.kind), *said)


def _given(row: t.GivenRow) -> Given:
    what = (row.digest, row.place, row.told, row.made)
    return Given(row.student, row.lab, Way(row.way), Step(row.step), *what)


def _alone(session: Session) -> None:
    """Let nobody else ask until this transaction ends; on SQLite nobody can anyway."""
    if session.get_bind().dialect.name == "postgresql":
        session.execute(text("LOCK TABLE requests IN SHARE ROW EXCLUSIVE MODE"))
