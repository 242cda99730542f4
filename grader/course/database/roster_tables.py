"""People elsewhere, and people gone: marks at a learning platform, and that somebody was forgotten.

``forgettings`` only grow. A change here needs a migration, as it does in ``tables``.
"""

from datetime import datetime

from sqlalchemy import ForeignKey, Index
from sqlalchemy.orm import Mapped, mapped_column

from grader.course.database.tables import Table


class ForgettingRow(Table):
    """That all of somebody was deleted: when, by whose word and why; never changed."""

    __tablename__ = "forgettings"

    id: Mapped[int] = mapped_column(primary_key=True)
    author: Mapped[str]
    reason: Mapped[str]
    made: Mapped[datetime]


class ContextRow(Table):
    """A course at the learning platform, as its newest launches tell of it."""

    __tablename__ = "platform_contexts"

    deployment: Mapped[str] = mapped_column(primary_key=True)
    id: Mapped[str] = mapped_column(primary_key=True)
    title: Mapped[str]
    members: Mapped[str]
    items: Mapped[str]
    seen: Mapped[datetime]


class SentRow(Table):
    """One mark that the learning platform was sent, or is about to be."""

    __tablename__ = "platform_marks"
    __table_args__ = (Index("ix_platform_marks_lab_student", "lab", "student"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    student: Mapped[str] = mapped_column(ForeignKey("students.id"))
    lab: Mapped[str]
    points: Mapped[float]
    possible: Mapped[float]
    comment: Mapped[str]
    made: Mapped[datetime]
    done: Mapped[bool]
