"""What was said of work, in the course database: rows that are only ever added."""

from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Any, TypeVar

from grader.course.database.records import Comment, Correction, Score, Seen
from grader.course.database.store import Store
from grader.errors import StoreError
from grader.extras import needs

with needs("course"):
    from sqlalchemy import Select, func, select
    from sqlalchemy.orm import Session

    from grader.course.database import reading_tables as t
    from grader.course.database.tables import AttemptRow, StudentRow

Record = TypeVar("Record", Comment, Correction, Score, Seen)
Settle = Callable[[Sequence[Score]], Sequence[Correction]]


class Shelf:
    """Implements ``service.ports.reading.Reading`` on an open course database."""

    def __init__(self, course: Store) -> None:
        self._course = course

    def add_comment(self, comment: Comment) -> int:
        """Record a comment, or one that takes a comment back; return its number."""
        with self._course.writing() as session:
            _hold(session, comment.student)
            row = t.CommentRow(**_values(comment, "number"))
            session.add(row)
            session.flush()
            return row.id

    def comments(self, lab: str | None = None, student: str | None = None) -> list[Comment]:
        """List what was said, and what was taken back, oldest first."""
        return self._course.comments(lab, student)

    def add_correction(self, correction: Correction) -> None:
        """Record the points of a task that somebody gave, or took back."""
        with self._course.writing() as session:
            _hold(session, correction.student)
            _correct(session, [correction])

    def corrections(self, student: str | None = None) -> list[Correction]:
        """List points that people gave, oldest first."""
        return self._course.corrections(student)

    def add_scores(self, scores: Sequence[Score], settle: Settle) -> None:
        """Record scores of one work, and the points that its scores then make, in one.

        ``settle`` is given all scores of that work, while nobody can add to them.
        """
        with self._course.writing() as session:
            _hold(session, scores[0].student)
            session.add_all([t.ScoreRow(**_values(score)) for score in scores])
            session.flush()
            first = scores[0]
            own = (t.ScoreRow.student == first.student, t.ScoreRow.lab == first.lab)
            rows = select(t.ScoreRow).where(*own, t.ScoreRow.commit == first.commit)
            found = _records(session, Score, rows.order_by(t.ScoreRow.id))
            _correct(session, settle(found))

    def scores(self, lab: str, student: str | None = None) -> list[Score]:
        """List the scores of a lab, oldest first."""
        rows = select(t.ScoreRow).where(t.ScoreRow.lab == lab).order_by(t.ScoreRow.id)
        rows = rows if student is None else rows.where(t.ScoreRow.student == student)
        with self._course.reading() as session:
            return _records(session, Score, rows)

    def add_seen(self, seen: Seen) -> None:
        """Record that somebody has read work."""
        with self._course.writing() as session:
            _hold(session, seen.student)
            session.add(t.SeenRow(**_values(seen)))

    def seen(self, lab: str) -> list[Seen]:
        """List who has read what of a lab, oldest first."""
        rows = select(t.SeenRow).where(t.SeenRow.lab == lab).order_by(t.SeenRow.id)
        with self._course.reading() as session:
            return _records(session, Seen, rows)


def _hold(session: Session, student: str) -> None:
    """Let nobody else say something of a student until the transaction ends."""
    if session.get(StudentRow, student, with_for_update={"key_share": True}) is None:
        raise StoreError(f"no student {student!r} is known")


def _correct(session: Session, corrections: Sequence[Correction]) -> None:
    for word in corrections:
        own = (AttemptRow.student == word.student, AttemptRow.lab == word.lab)
        newest = select(func.max(AttemptRow.id)).where(*own, AttemptRow.commit == word.commit)
        after = session.scalar(newest) or 0
        session.add(t.CorrectionRow(**{**_values(word), "after": after}))


def _records(session: Session, kind: type[Record], rows: Select[Any]) -> list[Record]:
    names = [field.name for field in fields(kind)]
    return [kind(**{name: getattr(row, name) for name in names}) for row in session.scalars(rows)]


def _values(record: Comment | Correction | Score | Seen, without: str = "") -> dict[str, Any]:
    names = [field.name for field in fields(record) if field.name != without]
    return {name: getattr(record, name) for name in names}
