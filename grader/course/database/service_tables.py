"""The tables of the grading service, in the course's own database.

Hand-ins and regradings change while they wait and run, within what their indexes allow.
A change here needs a migration, as it does in ``tables``.
"""

from collections.abc import Mapping
from datetime import datetime

from sqlalchemy import BigInteger, CheckConstraint, ForeignKey, Index, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from grader.course.database.columns import Packed, RunNumber
from grader.course.database.tables import Table, only_one

STATES = ("waiting", "running", "graded", "superseded", "held")
ORIGINS = ("terminal", "web", "notebook", "git")
ROLES = ("student", "assistant", "instructor")


def one_of(column: str, values: tuple[str, ...]) -> str:
    """Return the condition that a column holds one of these words."""
    listed = ", ".join(f"'{value}'" for value in values)
    return f"{column} IN ({listed})"


class HandInRow(Table):
    """One piece of work that was taken, and where it is on its way."""

    __tablename__ = "hand_ins"
    __table_args__ = (
        CheckConstraint(one_of("state", STATES), name="ck_hand_ins_state"),
        CheckConstraint(one_of("origin", ORIGINS), name="ck_hand_ins_origin"),
        only_one("uq_hand_ins_running", "state = 'running'", "student"),
        only_one("uq_hand_ins_waiting", "state = 'waiting'", "student", "lab"),
        Index("ix_hand_ins_lab_student", "lab", "student"),
        Index("ix_hand_ins_student_started", "student", "started"),
        Index("ix_hand_ins_started", "started"),
    )

    number: Mapped[int] = mapped_column("id", primary_key=True)
    student: Mapped[str] = mapped_column(ForeignKey("students.id"))
    lab: Mapped[str]
    sha256: Mapped[str]
    received: Mapped[datetime]
    origin: Mapped[str]
    device: Mapped[str]
    note: Mapped[str]
    commit: Mapped[str] = mapped_column("commit_id")
    path: Mapped[str]
    state: Mapped[str]
    tries: Mapped[int]
    worker: Mapped[str]
    beat: Mapped[datetime | None]
    started: Mapped[datetime | None]
    ended: Mapped[datetime | None]
    failure: Mapped[str]


class RegradingRow(Table):
    """One piece of work that is graded once more, in a run of its own."""

    __tablename__ = "regradings"
    __table_args__ = (
        UniqueConstraint("run_id", "student", "commit_id"),
        CheckConstraint(one_of("state", STATES), name="ck_regradings_state"),
        only_one("uq_regradings_running", "state = 'running'", "student"),
        Index("ix_regradings_state", "state"),
    )

    number: Mapped[int] = mapped_column("id", primary_key=True)
    run: Mapped[str] = mapped_column("run_id", RunNumber, ForeignKey("runs.id"))
    student: Mapped[str] = mapped_column(ForeignKey("students.id"))
    commit: Mapped[str] = mapped_column("commit_id")
    device: Mapped[str]
    state: Mapped[str]
    tries: Mapped[int]
    worker: Mapped[str]
    beat: Mapped[datetime | None]
    started: Mapped[datetime | None]
    ended: Mapped[datetime | None]
    failure: Mapped[str]
    seed: Mapped[int | None] = mapped_column(BigInteger)  # None: any


class EventRow(Table):
    """One step of a grading; ids are never given twice, whatever was removed."""

    __tablename__ = "events"
    __table_args__ = (
        Index("ix_events_hand_in", "hand_in", "id"),
        {"sqlite_autoincrement": True},
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    hand_in: Mapped[int] = mapped_column(ForeignKey("hand_ins.id"))
    kind: Mapped[str]
    data: Mapped[Mapping[str, object]] = mapped_column(Packed)
    made: Mapped[datetime]


class TokenRow(Table):
    """One right to come in."""

    __tablename__ = "tokens"
    __table_args__ = (
        UniqueConstraint("hash"),
        CheckConstraint(one_of("role", ROLES), name="ck_tokens_role"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    hash: Mapped[str]
    owner: Mapped[str]
    role: Mapped[str]
    made: Mapped[datetime]
    revoked: Mapped[datetime | None]


class SessionRow(Table):
    """One browser that came in, until it leaves."""

    __tablename__ = "sessions"

    hash: Mapped[str] = mapped_column(primary_key=True)
    token: Mapped[int] = mapped_column("token_id", ForeignKey("tokens.id"))
    csrf: Mapped[str]
    made: Mapped[datetime]
    ends: Mapped[datetime]


class AliasRow(Table):
    """The name of one student on the board of one lab."""

    __tablename__ = "aliases"
    __table_args__ = (UniqueConstraint("lab", "name"),)

    student: Mapped[str] = mapped_column(ForeignKey("students.id"), primary_key=True)
    lab: Mapped[str] = mapped_column(primary_key=True)
    name: Mapped[str]


class DeliveryRow(Table):
    """One call of a hook that was answered."""

    __tablename__ = "deliveries"

    id: Mapped[str] = mapped_column(primary_key=True)
    received: Mapped[datetime]
