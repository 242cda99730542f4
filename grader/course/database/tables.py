"""The tables of the course database, the same on SQLite and PostgreSQL.

``attempts``, ``overrides``, ``grants`` and ``frozen`` only grow; triggers guard the first three.
Those of the grading service are in ``service_tables``.
A change here needs a migration: a test compares the migrated schema with these classes.
"""

import json
import zlib
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    DateTime,
    Dialect,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    TypeDecorator,
    UniqueConstraint,
    text,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, synonym

from grader.course.database.records import AFTER_DEADLINE, SERVICE, GrantKind
from grader.course.database.stored_report import StoredReport
from grader.text import encodable

MOST_DIGITS = 9  # that a column of numbers holds


class Moment(TypeDecorator[datetime]):
    """A datetime with its zone, stored and returned in UTC; SQLite itself knows no zones."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Refuse a moment without a zone: nobody could say later which moment it was."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError(f"{value} has no time zone")
        moment = value.astimezone(UTC)
        return moment.replace(tzinfo=None) if dialect.name == "sqlite" else moment

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Return the moment in UTC."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


class Words(TypeDecorator[str]):
    """Text; what one of the databases cannot hold (NUL, a lone surrogate) is replaced."""

    impl = String
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        """Return the text as every database can hold it."""
        return None if value is None else encodable(value).replace("\0", "\ufffd")


class Packed(TypeDecorator[Mapping[str, object]]):
    """JSON, compressed to about a tenth: reports of one kind repeat themselves."""

    impl = LargeBinary
    cache_ok = True

    def process_bind_param(
        self, value: Mapping[str, object] | None, dialect: Dialect
    ) -> bytes | None:
        """Return the bytes; what no JSON can hold (a lone surrogate, NaN) is replaced."""
        if value is None:
            return None
        text = json.dumps(encodable(dict(value)), allow_nan=False, separators=(",", ":"))
        return zlib.compress(text.encode())

    def process_result_value(self, value: Any, dialect: Dialect) -> Mapping[str, object] | None:
        """Return a mapping that unpacks itself when it is read."""
        return None if value is None else StoredReport(bytes(value))


class RunNumber(TypeDecorator[str]):
    """The number of a run, which people and programs hand on as text."""

    impl = Integer
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> int | None:
        """Return the number; a text that is none stands for a run that there is not."""
        if value is None:
            return None
        return int(value) if value.isdecimal() and len(value) <= MOST_DIGITS else 0

    def process_result_value(self, value: int | None, dialect: Dialect) -> str | None:
        """Return the number as text."""
        return None if value is None else str(value)


class Granting(TypeDecorator[GrantKind]):
    """What was granted, as its word."""

    impl = String
    cache_ok = True

    def process_bind_param(self, value: GrantKind | None, dialect: Dialect) -> str | None:
        """Return the word."""
        return None if value is None else value.value

    def process_result_value(self, value: str | None, dialect: Dialect) -> GrantKind | None:
        """Return what the word stands for."""
        return None if value is None else GrantKind(value)


class Ids(TypeDecorator[tuple[str, ...]]):
    """Ids of students, in which there are no blanks, as one text."""

    impl = String
    cache_ok = True

    def process_bind_param(self, value: tuple[str, ...] | None, dialect: Dialect) -> str | None:
        """Return the ids with blanks between them."""
        return None if value is None else " ".join(value)

    def process_result_value(self, value: str | None, dialect: Dialect) -> tuple[str, ...] | None:
        """Return the ids one by one."""
        return None if value is None else tuple(value.split())


class Table(DeclarativeBase):
    """What all tables share: names of constraints that are the same in every database."""

    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(column_0_label)s",
            "uq": "uq_%(table_name)s_%(column_0_name)s",
            "fk": "fk_%(table_name)s_%(column_0_name)s",
            "pk": "pk_%(table_name)s",
        }
    )
    type_annotation_map = {datetime: Moment, float: Double, str: Words}  # noqa: RUF012 - SQLAlchemy reads it as it stands


def only_one(name: str, condition: str, *columns: str) -> Index:
    """Make the index that lets one row under a condition be there for each of some columns."""
    where = text(condition)
    return Index(name, *columns, unique=True, sqlite_where=where, postgresql_where=where)


class StudentRow(Table):
    """A student who is, or once was, on the roster."""

    __tablename__ = "students"

    id: Mapped[str] = mapped_column(primary_key=True)
    name: Mapped[str]
    repository: Mapped[str]
    branch: Mapped[str]
    place: Mapped[int | None]  # on the roster; none: no longer on it


class FrozenRow(Table):
    """One collection of one student's work."""

    __tablename__ = "frozen"
    __table_args__ = (Index("ix_frozen_lab_student", "lab", "student"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    student: Mapped[str] = mapped_column(ForeignKey("students.id"))
    lab: Mapped[str]
    commit: Mapped[str] = mapped_column("commit_id")
    committed: Mapped[datetime | None]
    collected: Mapped[datetime]
    path: Mapped[str]
    problem: Mapped[str]
    until: Mapped[datetime | None] = mapped_column("up_to")


class RemarkRow(Table):
    """One remark of a collection; never changed, the newest of a student and lab is shown."""

    __tablename__ = "remarks"
    __table_args__ = (Index("ix_remarks_lab_student", "lab", "student"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    student: Mapped[str] = mapped_column(ForeignKey("students.id"))
    lab: Mapped[str]
    text: Mapped[str]
    made: Mapped[datetime]


class RunRow(Table):
    """One grading of a class."""

    __tablename__ = "runs"
    __table_args__ = (
        only_one("uq_runs_service", f"note = '{SERVICE}'", "lab"),
        only_one("uq_runs_after_deadline", f"note = '{AFTER_DEADLINE}'", "lab"),
    )

    id: Mapped[str] = mapped_column(RunNumber, primary_key=True)
    lab: Mapped[str] = mapped_column(index=True)
    started: Mapped[datetime]
    note: Mapped[str]
    students: Mapped[tuple[str, ...]] = mapped_column(Ids, server_default="")


class AttemptRow(Table):
    """One grading of one commit; never changed."""

    __tablename__ = "attempts"
    # A grading that failed by our fault leaves room for one that succeeds.
    __table_args__ = (
        UniqueConstraint("run_id", "student", "lab", "commit_id", "infra"),
        Index("ix_attempts_lab_student", "lab", "student"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    student: Mapped[str] = mapped_column(ForeignKey("students.id"))
    lab: Mapped[str]
    run: Mapped[str] = mapped_column("run_id", RunNumber, ForeignKey("runs.id"))
    commit: Mapped[str] = mapped_column("commit_id")
    submitted: Mapped[datetime | None]
    graded: Mapped[datetime]
    seconds: Mapped[float]
    points: Mapped[float]
    possible: Mapped[float]
    exit_code: Mapped[int]
    infra: Mapped[bool]
    report: Mapped[Mapping[str, object]] = mapped_column(Packed)
    suite: Mapped[str] = mapped_column(server_default="all")
    row: Mapped[int] = synonym("id")


class DecisionRow(Table):
    """One word of a person on a regrade; never changed."""

    __tablename__ = "decisions"
    __table_args__ = (
        UniqueConstraint("run_id", "kind"),
        only_one("uq_decisions_end", "kind <> 'asked'", "run_id"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    run: Mapped[str] = mapped_column("run_id", RunNumber, ForeignKey("runs.id"))
    kind: Mapped[str]
    author: Mapped[str]
    reason: Mapped[str]
    made: Mapped[datetime]


class OverrideRow(Table):
    """One word of a person on a mark; never changed, the newest holds."""

    __tablename__ = "overrides"

    id: Mapped[int] = mapped_column(primary_key=True)
    student: Mapped[str] = mapped_column(ForeignKey("students.id"))
    lab: Mapped[str] = mapped_column(index=True)
    points: Mapped[float | None]
    author: Mapped[str]
    reason: Mapped[str]
    made: Mapped[datetime]
    after: Mapped[int | None] = mapped_column("after_row")


class GrantRow(Table):
    """One word of a person on a student's time in a lab; never changed, the newest holds."""

    __tablename__ = "grants"

    id: Mapped[int] = mapped_column(primary_key=True)
    student: Mapped[str] = mapped_column(ForeignKey("students.id"))
    lab: Mapped[str]
    kind: Mapped[GrantKind] = mapped_column(Granting)
    until: Mapped[datetime | None] = mapped_column("up_to")
    holds: Mapped[bool]
    author: Mapped[str]
    reason: Mapped[str]
    made: Mapped[datetime]


class LikenessRow(Table):
    """One likeness that the newest comparison of a lab found."""

    __tablename__ = "likenesses"

    id: Mapped[int] = mapped_column(primary_key=True)
    lab: Mapped[str] = mapped_column(index=True)
    student: Mapped[str] = mapped_column(ForeignKey("students.id"))
    other: Mapped[str]
    is_student: Mapped[bool]
    share: Mapped[float]
    other_share: Mapped[float]
    tokens: Mapped[int]
