"""The tables of the course database, the same on SQLite and PostgreSQL.

``attempts``, ``overrides``, ``grants`` and ``frozen`` only grow; triggers guard the first three.
Those of the grading service are in ``service_tables``, of people who read in ``reading_tables``.
A change here needs a migration: a test compares the migrated schema with these classes.
"""

from collections.abc import Mapping
from datetime import datetime

from sqlalchemy import Double, ForeignKey, Index, MetaData, UniqueConstraint, text
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, synonym

from grader.course.database.columns import Granting, Ids, Moment, Packed, RunNumber, Words
from grader.course.database.records import AFTER_DEADLINE, SERVICE, GrantKind


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
