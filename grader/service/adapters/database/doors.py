"""Who may come in, the events of hand-ins, and names on a board."""

from collections.abc import Mapping
from dataclasses import fields
from datetime import datetime
from typing import Any

from grader.course.database.store import Store, insert_if_new
from grader.errors import StoreError
from grader.extras import needs
from grader.service.domain.records import Alias, Event, Role, Session, Token

with needs("course"):
    from sqlalchemy import delete, select, text, update
    from sqlalchemy.orm import Session as Transaction

    from grader.course.database import service_tables as t


class DatabaseDoors:
    """Implements ``Events``, ``Doors`` and ``Words`` of ``ports.store``."""

    def __init__(self, course: Store) -> None:
        self._course = course

    def tell(self, number: int, kind: str, data: Mapping[str, object], now: datetime) -> Event:
        """Add an event of a hand-in."""
        with self._course.writing() as session:
            # On PostgreSQL a later id of the same hand-in could be seen earlier otherwise.
            if session.get(t.HandInRow, number, with_for_update={"key_share": True}) is None:
                raise StoreError(f"the course database knows no hand-in {number}")
            row = t.EventRow(hand_in=number, kind=kind, data=data, made=now)
            session.add(row)
            session.flush()
            return Event(row.id, number, kind, data, now)

    def events(self, number: int, after: int = 0, most: int = 1000) -> list[Event]:
        """List a hand-in's events with an id above ``after``, oldest first."""
        rows = select(t.EventRow).where(t.EventRow.hand_in == number, t.EventRow.id > after)
        with self._course.reading() as session:
            found = session.scalars(rows.order_by(t.EventRow.id).limit(most))
            return [_event(row) for row in found]

    def forget(self, before: datetime) -> int:
        """Remove events of hand-ins that ended before a moment, and marks of older deliveries."""
        ended = select(t.HandInRow.number).where(t.HandInRow.ended < before)
        rows = delete(t.EventRow).where(t.EventRow.hand_in.in_(ended)).returning(t.EventRow.id)
        old = delete(t.DeliveryRow).where(t.DeliveryRow.received < before)
        with self._course.writing() as session:
            deliveries = session.scalars(old.returning(t.DeliveryRow.id)).all()
            return len(session.scalars(rows).all()) + len(deliveries)

    def add_token(self, hash: str, owner: str, role: str, now: datetime) -> Token:
        """Add a token by the hash of its secret; raises StoreError if the hash is there."""
        with self._course.writing() as session:
            row = t.TokenRow(hash=hash, owner=owner, role=role, made=now)
            session.add(row)
            session.flush()
            return _token(row)

    def token(self, hash: str) -> Token | None:
        """Return the token with a hash, unless it was revoked."""
        rows = select(t.TokenRow).where(t.TokenRow.hash == hash, t.TokenRow.revoked.is_(None))
        with self._course.reading() as session:
            row = session.scalar(rows)
            return None if row is None else _token(row)

    def tokens(self) -> list[Token]:
        """List all tokens, those revoked too, oldest first."""
        rows = select(t.TokenRow).order_by(t.TokenRow.id)
        with self._course.reading() as session:
            return [_token(row) for row in session.scalars(rows)]

    def revoke(self, owner: str, now: datetime) -> int:
        """Revoke all tokens of somebody and end their sessions; return how many tokens."""
        own = select(t.TokenRow.id).where(t.TokenRow.owner == owner)
        valid = t.TokenRow.owner == owner, t.TokenRow.revoked.is_(None)
        rows = update(t.TokenRow).where(*valid).values(revoked=now).returning(t.TokenRow.id)
        with self._course.writing() as session:
            session.execute(delete(t.SessionRow).where(t.SessionRow.token.in_(own)))
            return len(session.scalars(rows).all())

    def open_session(self, session: Session) -> None:
        """Let a browser in, and forget sessions that have ended by then."""
        with self._course.writing() as transaction:
            ended = t.SessionRow.ends <= session.made
            transaction.execute(delete(t.SessionRow).where(ended))
            transaction.add(t.SessionRow(**_values(Session, session)))

    def session(self, hash: str, now: datetime) -> tuple[Session, Token] | None:
        """Return a session that has not ended, with its token if that was not revoked."""
        rows = (
            select(t.SessionRow, t.TokenRow)
            .join(t.TokenRow, t.TokenRow.id == t.SessionRow.token)
            .where(t.SessionRow.hash == hash, t.SessionRow.ends > now)
            .where(t.TokenRow.revoked.is_(None))
        )
        with self._course.reading() as session:
            found = session.execute(rows).first()
            if found is None:
                return None
            row, token = found
            return Session(**_values(Session, row)), _token(token)

    def close_session(self, hash: str) -> None:
        """End a session; harmless if there is none."""
        with self._course.writing() as session:
            session.execute(delete(t.SessionRow).where(t.SessionRow.hash == hash))

    def first_delivery(self, id: str, now: datetime) -> bool:
        """Note the id of a hook's delivery; False if it was seen before."""
        with self._course.writing() as session:
            row = insert_if_new(session, t.DeliveryRow, {"id": id, "received": now})
            return session.scalar(row.returning(t.DeliveryRow.id)) is not None

    def put_alias(self, alias: Alias) -> bool:
        """Choose a student's name on a board; False if somebody else has it there."""
        own = t.AliasRow.student == alias.student, t.AliasRow.lab == alias.lab
        with self._course.writing() as session:
            _alone(session)
            if not alias.name:
                session.execute(delete(t.AliasRow).where(*own))
                return True
            others = t.AliasRow.lab == alias.lab, t.AliasRow.student != alias.student
            rows = session.scalars(select(t.AliasRow).where(*others))
            if alias.key in {Alias(**_values(Alias, row)).key for row in rows}:
                return False
            session.merge(t.AliasRow(**_values(Alias, alias)))
            return True

    def aliases(self, lab: str) -> list[Alias]:
        """List who is on the board of a lab, by name."""
        rows = select(t.AliasRow).where(t.AliasRow.lab == lab)
        with self._course.reading() as session:
            found = [Alias(**_values(Alias, row)) for row in session.scalars(rows)]
        return sorted(found, key=lambda alias: alias.name)  # each database sorts in its own way


def _values(kind: type[Event | Token | Session | Alias], row: object) -> dict[str, Any]:
    return {field.name: getattr(row, field.name) for field in fields(kind)}


def _token(row: t.TokenRow) -> Token:
    values = _values(Token, row)
    values["role"] = Role(row.role)
    return Token(**values)


def _event(row: t.EventRow) -> Event:
    values = _values(Event, row)
    values["data"] = dict(row.data)
    return Event(**values)


def _alone(session: Transaction) -> None:
    """Let nobody else choose a name until this transaction ends; on SQLite nobody can anyway."""
    if session.get_bind().dialect.name == "postgresql":
        session.execute(text("LOCK TABLE aliases IN SHARE ROW EXCLUSIVE MODE"))
