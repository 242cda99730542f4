"""The tables of what goes back to students. All but ``addresses`` only grow; triggers guard them.

A change here needs a migration, as it does in ``tables``.
"""

from datetime import datetime

from sqlalchemy import CheckConstraint, ForeignKey, Index, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from grader.course.database.columns import RunNumber
from grader.course.database.service_tables import one_of
from grader.course.database.tables import Table


class RequestRow(Table):
    """One wish of a student that something is looked at again."""

    __tablename__ = "requests"
    __table_args__ = (Index("ix_requests_student_lab", "student", "lab"),)

    number: Mapped[int] = mapped_column("id", primary_key=True)
    student: Mapped[str] = mapped_column(ForeignKey("students.id"))
    lab: Mapped[str]
    commit: Mapped[str] = mapped_column("commit_id")
    task: Mapped[str]
    test: Mapped[str]
    points: Mapped[float]
    task_points: Mapped[float]
    reason: Mapped[str]
    author: Mapped[str]
    made: Mapped[datetime]


class AnswerRow(Table):
    """The end of a request, of which each has one at most."""

    __tablename__ = "answers"
    __table_args__ = (
        UniqueConstraint("request_id"),
        CheckConstraint(one_of("kind", ("answered", "withdrawn")), name="ck_answers_kind"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    request: Mapped[int] = mapped_column("request_id", ForeignKey("requests.id"))
    kind: Mapped[str]
    author: Mapped[str]
    text: Mapped[str]
    made: Mapped[datetime]
    run: Mapped[str | None] = mapped_column("run_id", RunNumber, ForeignKey("runs.id"))
    before: Mapped[float | None] = mapped_column("mark_before")
    after: Mapped[float | None] = mapped_column("mark_after")


class HoldRow(Table):
    """One word on whether a student's lab goes out; the newest holds."""

    __tablename__ = "holds"

    id: Mapped[int] = mapped_column(primary_key=True)
    student: Mapped[str] = mapped_column(ForeignKey("students.id"), index=True)
    lab: Mapped[str]
    holds: Mapped[bool]
    author: Mapped[str]
    reason: Mapped[str]
    made: Mapped[datetime]


class GivenRow(Table):
    """One step of giving a report back."""

    __tablename__ = "given_back"
    __table_args__ = (
        Index("ix_given_back_lab_way", "lab", "way"),
        CheckConstraint(one_of("way", ("branch", "mail")), name="ck_given_back_way"),
        CheckConstraint(one_of("step", ("begun", "sent", "failed")), name="ck_given_back_step"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    student: Mapped[str] = mapped_column(ForeignKey("students.id"))
    lab: Mapped[str]
    way: Mapped[str]
    step: Mapped[str]
    digest: Mapped[str]
    place: Mapped[str]
    told: Mapped[str]
    made: Mapped[datetime]


class AddressRow(Table):
    """One secret address of a report, until it is revoked."""

    __tablename__ = "addresses"
    __table_args__ = (UniqueConstraint("hash"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    hash: Mapped[str]
    student: Mapped[str] = mapped_column(ForeignKey("students.id"))
    lab: Mapped[str]
    author: Mapped[str]
    made: Mapped[datetime]
    revoked: Mapped[datetime | None]
