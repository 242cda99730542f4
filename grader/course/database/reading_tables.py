"""The tables of what people say when they read: comments, points by hand, scores, what was read.

All of them only grow, and triggers guard them. A change here needs a migration, as in ``tables``.
"""

from datetime import datetime

from sqlalchemy import ForeignKey, Index
from sqlalchemy.orm import Mapped, mapped_column, synonym

from grader.course.database.tables import Table


class CommentRow(Table):
    """One word of the staff on a student's work, or one that takes such a word back."""

    __tablename__ = "comments"
    __table_args__ = (Index("ix_comments_lab_student", "lab", "student"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    student: Mapped[str] = mapped_column(ForeignKey("students.id"))
    lab: Mapped[str]
    commit: Mapped[str] = mapped_column("commit_id")
    author: Mapped[str]
    text: Mapped[str]
    made: Mapped[datetime]
    task: Mapped[str]
    file: Mapped[str]
    line: Mapped[int | None]
    withdraws: Mapped[int | None] = mapped_column(ForeignKey("comments.id"))
    number: Mapped[int] = synonym("id")


class CorrectionRow(Table):
    """One word of a person on the points of a task."""

    __tablename__ = "corrections"
    __table_args__ = (Index("ix_corrections_lab_student", "lab", "student"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    student: Mapped[str] = mapped_column(ForeignKey("students.id"))
    lab: Mapped[str]
    commit: Mapped[str] = mapped_column("commit_id")
    task: Mapped[str]
    points: Mapped[float | None]
    author: Mapped[str]
    reason: Mapped[str]
    made: Mapped[datetime]
    after: Mapped[int | None] = mapped_column("after_row")


class ScoreRow(Table):
    """One reader's points for one criterion of a rubric."""

    __tablename__ = "scores"
    __table_args__ = (Index("ix_scores_lab_student", "lab", "student"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    student: Mapped[str] = mapped_column(ForeignKey("students.id"))
    lab: Mapped[str]
    commit: Mapped[str] = mapped_column("commit_id")
    criterion: Mapped[str]
    points: Mapped[float]
    author: Mapped[str]
    reason: Mapped[str]
    made: Mapped[datetime]
    settles: Mapped[bool]


class SeenRow(Table):
    """One reading of a student's work."""

    __tablename__ = "seen"
    __table_args__ = (Index("ix_seen_lab_student", "lab", "student"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    student: Mapped[str] = mapped_column(ForeignKey("students.id"))
    lab: Mapped[str]
    commit: Mapped[str] = mapped_column("commit_id")
    author: Mapped[str]
    made: Mapped[datetime]
