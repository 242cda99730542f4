"""The course database: students, frozen work, remarks, runs, attempts, overrides, likenesses.

Attempts and overrides only grow: a mark is a rule over them, never a row that someone updates.
Several processes may use one database at once; each makes a Store of its own.
"""

from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from grader.course.database.connection import connect, explained, located, migrate, writing
from grader.course.database.records import (
    Attempt,
    Comment,
    Correction,
    Frozen,
    Grant,
    Kind,
    Likeness,
    Override,
    Remark,
    Run,
    Student,
)
from grader.extras import needs

with needs("course"):
    from sqlalchemy import Select, delete, func, select, update
    from sqlalchemy.dialects import postgresql, sqlite
    from sqlalchemy.engine import URL, Engine
    from sqlalchemy.orm import Session

    from grader.course.database import tables as t
    from grader.course.database.reading_tables import CommentRow, CorrectionRow

WAIT_SECONDS = 60.0  # that a writer waits for another one
Record = TypeVar(
    "Record", Student, Frozen, Remark, Run, Attempt, Override, Grant, Likeness, Comment, Correction
)


class Store:
    """One open database. A failure of it raises ``StoreError``, and what was asked is not done."""

    def __init__(self, engine: Engine, url: URL) -> None:
        self._engine = engine
        self._writer = writing(engine)
        self._url = url

    @classmethod
    def open(cls, url: str, folder: Path | None = None, wait: float = WAIT_SECONDS) -> "Store":
        """Open or create the database and bring its schema up to date.

        A relative SQLite path starts at ``folder``; ``wait`` is how many seconds a writer waits.
        """
        place = located(url, folder)
        with explained(place):
            engine = connect(place, wait)
            try:
                migrate(engine)
            except BaseException:
                engine.dispose()
                raise
        return cls(engine, place)

    def close(self) -> None:
        """Let go of the database; harmless if repeated."""
        self._engine.dispose()

    def __enter__(self) -> "Store":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def put_students(self, students: Sequence[Student]) -> None:
        """Take the whole roster as it is now; who left it keeps every record but is not listed."""
        with self.writing() as session:
            session.execute(update(t.StudentRow).values(place=None))
            for place, student in enumerate(students):
                session.merge(t.StudentRow(**_values(student), place=place))

    def students(self) -> list[Student]:
        """The roster, in its order."""
        rows = select(t.StudentRow).where(t.StudentRow.place.is_not(None))
        return self._read(Student, rows.order_by(t.StudentRow.place))

    def add_frozen(self, *frozen: Frozen, remark: Remark | None = None) -> None:
        """Record what a student had handed in, and what is to be looked at: all or nothing."""
        with self.writing() as session:
            session.add_all([t.FrozenRow(**_values(item)) for item in frozen])
            session.add_all([t.RemarkRow(**_values(remark))] if remark else [])

    def frozen(self, lab: str) -> list[Frozen]:
        """What each student of the roster had handed in when it was last collected."""
        ids = select(func.max(t.FrozenRow.id)).where(t.FrozenRow.lab == lab)
        rows = (
            select(t.FrozenRow)
            .join(t.StudentRow, t.StudentRow.id == t.FrozenRow.student)
            .where(t.FrozenRow.id.in_(ids.group_by(t.FrozenRow.student)))
            .where(t.StudentRow.place.is_not(None))
        )
        return self._read(Frozen, rows.order_by(t.StudentRow.place))

    def collections(self, lab: str) -> list[Frozen]:
        """All that was ever collected of the students of the roster, oldest first for each."""
        rows = (
            select(t.FrozenRow)
            .join(t.StudentRow, t.StudentRow.id == t.FrozenRow.student)
            .where(t.FrozenRow.lab == lab, t.FrozenRow.path != "")
            .where(t.StudentRow.place.is_not(None))
        )
        return self._read(Frozen, rows.order_by(t.StudentRow.place, t.FrozenRow.id))

    def remarks(self, lab: str | None = None) -> list[Remark]:
        """What the newest collections of a lab (or of all) gave a person to look at."""
        newest = select(func.max(t.RemarkRow.id)).group_by(t.RemarkRow.lab, t.RemarkRow.student)
        rows = select(t.RemarkRow).where(t.RemarkRow.id.in_(newest), t.RemarkRow.text != "")
        rows = rows if lab is None else rows.where(t.RemarkRow.lab == lab)
        return self._read(Remark, rows.order_by(t.RemarkRow.lab, t.RemarkRow.student))

    def collected_labs(self) -> list[str]:
        """The labs of which anything was collected, in order."""
        with self.reading() as session:
            return [*session.scalars(select(t.FrozenRow.lab).distinct().order_by(t.FrozenRow.lab))]

    def start_run(
        self, lab: str, started: datetime, note: str = "", students: Sequence[str] = ()
    ) -> str:
        """Record that a class, or some of it, is about to be graded.

        Returns the run's id, a small number.
        """
        with self.writing() as session:
            row = t.RunRow(lab=lab, started=started, note=note, students=tuple(students))
            session.add(row)
            session.flush()
            return row.id

    def runs(self, lab: str | None = None) -> list[Run]:
        """The runs of a lab (or of all), oldest first."""
        rows = select(t.RunRow) if lab is None else select(t.RunRow).where(t.RunRow.lab == lab)
        return self._read(Run, rows.order_by(t.RunRow.id))

    def add_attempt(self, attempt: Attempt) -> bool:
        """Record a grading; False if this run has one of this commit already, which then stays.

        A grading that failed by our fault (exit code 3) stands in nobody's way: a later one of the
        same run and commit that succeeds is added.
        """
        with self.writing() as session:
            return insert_attempt(session, attempt)

    def attempts(
        self, lab: str | None = None, student: str | None = None, run: str | None = None
    ) -> list[Attempt]:
        """The attempts that fit, in the order in which they were recorded.

        A run may hold two of one commit: one that failed by our fault, and its repetition. Those of
        a regrade that nobody has published are told where its run is asked for, and nowhere else.
        """
        rows = select(t.AttemptRow).order_by(t.AttemptRow.id)
        rows = rows.where(t.AttemptRow.run.not_in(_unpublished())) if run is None else rows
        rows = rows if lab is None else rows.where(t.AttemptRow.lab == lab)
        rows = rows if student is None else rows.where(t.AttemptRow.student == student)
        rows = rows if run is None else rows.where(t.AttemptRow.run == run)
        return self._read(Attempt, rows)

    def add_override(self, override: Override) -> None:
        """Record a person's word on a mark."""
        with self.writing() as session:
            insert_override(session, override)

    def overrides(self, lab: str | None = None) -> list[Override]:
        """All overrides of a lab (or of all labs), oldest first; the newest of a mark holds."""
        rows = select(t.OverrideRow).order_by(t.OverrideRow.id)
        return self._read(Override, rows if lab is None else rows.where(t.OverrideRow.lab == lab))

    def add_grant(self, grant: Grant) -> None:
        """Record what a person granted a student, or took back."""
        with self.writing() as session:
            session.add(t.GrantRow(**_values(grant)))

    def grants(self) -> list[Grant]:
        """All grants, oldest first; the newest of a student, lab and kind holds."""
        return self._read(Grant, select(t.GrantRow).order_by(t.GrantRow.id))

    def put_likenesses(self, lab: str, found: Iterable[Likeness]) -> None:
        """Replace what an earlier comparison of the lab had found."""
        with self.writing() as session:
            session.execute(delete(t.LikenessRow).where(t.LikenessRow.lab == lab))
            session.add_all([t.LikenessRow(**_values(likeness)) for likeness in found])

    def likenesses(self, lab: str | None = None) -> list[Likeness]:
        """What the newest comparison found, in its order."""
        rows = select(t.LikenessRow).order_by(t.LikenessRow.id)
        return self._read(Likeness, rows if lab is None else rows.where(t.LikenessRow.lab == lab))

    def comments(self, lab: str | None = None, student: str | None = None) -> list[Comment]:
        """What the staff said of work, and what it took back, oldest first."""
        rows = select(CommentRow).order_by(CommentRow.id)
        rows = rows if lab is None else rows.where(CommentRow.lab == lab)
        rows = rows if student is None else rows.where(CommentRow.student == student)
        return self._read(Comment, rows)

    def corrections(self, student: str | None = None) -> list[Correction]:
        """Points of tasks that people gave, oldest first; the newest of a work and task holds."""
        rows = select(CorrectionRow).order_by(CorrectionRow.id)
        rows = rows if student is None else rows.where(CorrectionRow.student == student)
        return self._read(Correction, rows)

    def _read(self, kind: type[Record], rows: Select[Any]) -> list[Record]:
        names = [field.name for field in fields(kind)]
        with self.reading() as session:
            found = session.scalars(rows)
            return [kind(**{name: getattr(row, name) for name in names}) for row in found]

    @contextmanager
    def reading(self) -> Generator[Session]:
        """Give one transaction that changes nothing."""
        with explained(self._url), Session(self._engine) as session:
            yield session

    @contextmanager
    def writing(self) -> Generator[Session]:
        """Give one transaction that writes: all of it is kept, or nothing."""
        with explained(self._url), Session(self._writer) as session, session.begin():
            yield session


def _unpublished() -> Select[Any]:
    """Select the runs that are regrades and count for nothing yet, or never."""
    published = select(t.DecisionRow.run).where(t.DecisionRow.kind == Kind.PUBLISHED)
    asked = select(t.DecisionRow.run).where(t.DecisionRow.kind == Kind.ASKED)
    return asked.where(t.DecisionRow.run.not_in(published))


def insert_attempt(session: Session, attempt: Attempt) -> bool:
    """Record a grading in a transaction, as ``Store.add_attempt`` does."""
    values = {**_values(attempt), "infra": attempt.infra}
    del values["row"]  # which the database gives
    row = insert_if_new(session, t.AttemptRow, values)
    return session.scalar(row.returning(t.AttemptRow.id)) is not None


def insert_override(session: Session, override: Override) -> None:
    """Record a person's word on a mark in a transaction, as ``Store.add_override`` does."""
    after = session.scalar(select(func.max(t.AttemptRow.id))) or 0
    session.add(t.OverrideRow(**{**_values(override), "after": after}))


def insert_if_new(
    session: Session, table: type[t.Table], values: Mapping[str, Any]
) -> sqlite.Insert | postgresql.Insert:
    """Return what inserts a row, or does nothing where one stands in its way."""
    kinds = {"sqlite": sqlite.insert, "postgresql": postgresql.insert}
    insert = kinds[session.get_bind().dialect.name](table)
    return insert.values(**values).on_conflict_do_nothing()


def _values(record: object) -> dict[str, Any]:
    # Rows and records have the same names; a test compares them.
    return {field.name: getattr(record, field.name) for field in fields(record)}  # type: ignore[arg-type]
