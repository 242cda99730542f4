"""What is graded once more: regrades that staff ask for, and hidden tests after a deadline.

Whoever changes a row locks it; a claim passes over what is locked. Indexes keep what holds in any
case: one running of a student, one of a commit in a run, one end of a regrade.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from grader.course.database.decisions import decide, decisions, insert_regrade
from grader.course.database.records import AFTER_DEADLINE, REGRADE, Decision, Kind, Run
from grader.course.database.store import Store, insert_if_new
from grader.extras import needs
from grader.service.adapters.database.line import LOCK, DatabaseLine, is_in
from grader.service.domain.records import Regrading, State
from grader.service.domain.turns import abandoned, tried
from grader.service.ports.store import Gone, nobody

with needs("course"):
    from sqlalchemy import ColumnElement, Select, exists, func, select, update
    from sqlalchemy.orm import Session, aliased

    from grader.course.database import tables as t
    from grader.course.database.service_tables import HandInRow
    from grader.course.database.service_tables import RegradingRow as Row

CHANGING = ("state", "tries", "worker", "beat", "started", "ended", "failure")
OPEN = (State.WAITING, State.RUNNING)


class DatabaseRegradings(DatabaseLine[Row, Regrading]):
    """Implements ``ports.store.Regradings``."""

    def __init__(self, course: Store) -> None:
        self._course = course

    def ask(
        self,
        lab: str,
        work: Sequence[tuple[str, str]],
        device: str,
        asked: Decision,
        students: Sequence[str] = (),
        seed: int | None = None,
    ) -> str:
        """Queue work in a new run, of which the attempts count once it is published."""
        with self._course.writing() as session:
            run = insert_regrade(session, lab, replace(asked, kind=Kind.ASKED), students)
            for student, commit in work:
                session.add(Row(**_fresh(run, student, commit, device), seed=seed))
            return run

    def judge_hidden(self, lab: str, student: str, commit: str, device: str, now: datetime) -> bool:
        """Queue work for the hidden tests after a deadline; False if it was, once."""
        runs = select(t.RunRow.id).where(t.RunRow.lab == lab, t.RunRow.note == AFTER_DEADLINE)
        with self._course.writing() as session:
            if session.scalar(runs) is None:
                values = {"lab": lab, "started": now, "note": AFTER_DEADLINE}
                session.execute(insert_if_new(session, t.RunRow, values))
            values = _fresh(session.scalars(runs).one(), student, commit, device)
            row = insert_if_new(session, Row, values).returning(Row.number)
            return session.scalar(row) is not None

    def judged_hidden(self, lab: str) -> set[tuple[str, str]]:
        """Return the students and commits that were queued for hidden tests after a deadline."""
        own = t.RunRow.lab == lab, t.RunRow.note == AFTER_DEADLINE
        rows = select(Row.student, Row.commit).join(t.RunRow, t.RunRow.id == Row.run).where(*own)
        with self._course.reading() as session:
            return {(student, commit) for student, commit in session.execute(rows)}

    def of_run(self, run: str) -> list[Regrading]:
        """List what a run grades, by number."""
        with self._course.reading() as session:
            return [_record(*row) for row in session.execute(_rows(Row.run == run))]

    def counts(self, run: str | None = None) -> dict[State, int]:
        """Return how many there are in each state, of a run or of all."""
        rows = select(Row.state, func.count()).group_by(Row.state)
        rows = rows if run is None else rows.where(Row.run == run)
        with self._course.reading() as session:
            return {State(state): count for state, count in session.execute(rows)}

    def runs(self, lab: str | None = None) -> list[Run]:
        """List the regrades of a lab, or of all, oldest first."""
        return [run for run in self._course.runs(lab) if run.note == REGRADE]

    def decisions(self, run: str | None = None) -> list[Decision]:
        """List what was said of a regrade, or of all, oldest first."""
        return decisions(self._course, run)

    def decide(self, decision: Decision) -> bool:
        """End a regrade; what still waits of one that is discarded is not graded."""
        return decide(self._course, decision)

    def sweep(
        self, now: datetime, silence: timedelta, most: int, gone: Gone = nobody
    ) -> list[Regrading]:
        """Take back what runs but was not heard of for ``silence``, or whose worker is ``gone``."""
        rows = select(Row).where(is_in(Row, State.RUNNING)).order_by(Row.number)
        found: list[Regrading] = []
        with self._course.reading() as session:
            if session.scalars(rows).first() is None:
                return []
        with self._course.writing() as session:
            for row in session.scalars(rows.with_for_update(skip_locked=True)).all():
                item = self._item(session, row)
                why = abandoned(item, now, silence, gone=gone(row.worker))
                if why:
                    found.append(self._failed(session, row, why, now, most))
        return found

    def requeue(self, run: str) -> int:
        """Let what is held of an undecided run wait again; return how many."""
        ended = exists().where(t.DecisionRow.run == run, t.DecisionRow.kind != Kind.ASKED)
        rows = update(Row).where(Row.run == run, Row.state == State.HELD, ~ended)
        values = {"state": State.WAITING, "tries": 0, "ended": None}
        with self._course.writing() as session:
            session.get(t.RunRow, run, with_for_update=LOCK)  # nobody decides it meanwhile
            return len(session.scalars(rows.values(values).returning(Row.number)).all())

    def _next(self, device: str, since: datetime) -> Select[Any]:
        other = aliased(Row)
        again = exists().where(other.student == Row.student, other.state == State.RUNNING)
        fresh = exists().where(HandInRow.student == Row.student, HandInRow.state == State.RUNNING)
        return (
            select(Row)
            .where(is_in(Row, State.WAITING), Row.device == device, ~again, ~fresh)
            .order_by(Row.number)
            .limit(1)
            .with_for_update(of=Row, skip_locked=True)
        )

    def _locked(self, session: Session, number: int) -> Row | None:
        return session.get(Row, number, with_for_update=True)

    def _item(self, session: Session, row: Row) -> Regrading:
        return _record(*session.execute(_rows(Row.number == row.number)).one())

    def _run(self, session: Session, row: Row, now: datetime) -> str:
        return row.run

    def _failed(self, session: Session, row: Row, why: str, now: datetime, most: int) -> Regrading:
        """Keep a failure; of a run that was discarded meanwhile nothing waits again."""
        item = tried(self._item(session, row), why, now, most)
        gone = exists().where(t.DecisionRow.run == row.run, t.DecisionRow.kind == Kind.DISCARDED)
        if item.state is State.WAITING and session.scalar(select(gone)):
            item = replace(item, state=State.SUPERSEDED, ended=now)
        return self._give_back(session, row, item)

    def _give_back(self, session: Session, row: Row, item: Regrading) -> Regrading:
        for name in CHANGING:
            setattr(row, name, getattr(item, name))
        session.flush()
        return item


def _fresh(run: str, student: str, commit: str, device: str) -> dict[str, Any]:
    values = {"run": run, "student": student, "commit": commit, "device": device}
    return values | {"state": State.WAITING, "tries": 0, "worker": "", "failure": ""}


def _rows(*which: ColumnElement[bool]) -> Select[Row, str, str, datetime | None]:
    """Select regradings with their run's lab, and of the work's newest collection where it lies."""
    same = (t.FrozenRow.student == Row.student, t.FrozenRow.commit == Row.commit)
    newest = (
        select(func.max(t.FrozenRow.id))
        .where(*same, t.FrozenRow.lab == t.RunRow.lab, t.FrozenRow.path != "")
        .correlate(Row, t.RunRow)
        .scalar_subquery()
    )
    return (
        select(Row, t.RunRow.lab, t.FrozenRow.path, t.FrozenRow.committed)
        .join(t.RunRow, t.RunRow.id == Row.run)
        .outerjoin(t.FrozenRow, t.FrozenRow.id == newest)
        .where(*which)
        .order_by(Row.number)
    )


def _record(row: Row, lab: str, path: str | None, committed: datetime | None) -> Regrading:
    changing: dict[str, Any] = {name: getattr(row, name) for name in CHANGING}
    changing["state"] = State(row.state)
    return Regrading(
        number=row.number,
        run=row.run,
        student=row.student,
        lab=lab,
        commit=row.commit,
        path=path or "",
        received=committed,
        device=row.device,
        seed=row.seed,
        **changing,
    )
