"""Regrades on trial: runs whose attempts count for nothing until somebody's word lets them."""

from collections.abc import Sequence

from grader.course.database.records import REGRADE, Decision, Kind
from grader.course.database.store import Store
from grader.errors import UsageError
from grader.extras import needs

with needs("course"):
    from sqlalchemy import exists, select, update
    from sqlalchemy.orm import Session

    from grader.course.database import tables as t
    from grader.course.database.service_tables import RegradingRow

LOCK = {"key_share": True}  # rows that refer to a locked one may be added
WAITING, RUNNING, SUPERSEDED = "waiting", "running", "superseded"  # of what the service grades


def start_regrade(store: Store, lab: str, asked: Decision, students: Sequence[str] = ()) -> str:
    """Start a run on trial, of some students or of all, and return its id.

    Raises UsageError if an earlier one of the lab is not decided yet.
    """
    said = [word.run for word in decisions(store)]
    for run in store.runs(lab):
        if said.count(run.id) == 1:
            hint = f"lab gradebook publish {run.id}, or discard {run.id}, first"
            raise UsageError(f"run {run.id} of {lab} is on trial and not decided yet", hint)
    with store.writing() as session:
        return insert_regrade(session, lab, asked, students)


def insert_regrade(session: Session, lab: str, asked: Decision, students: Sequence[str]) -> str:
    """Do that in a transaction."""
    run = t.RunRow(lab=lab, started=asked.made, note=REGRADE, students=tuple(students))
    session.add(run)
    session.flush()
    session.add(_row(run.id, asked))
    return run.id


def decisions(store: Store, run: str | None = None) -> list[Decision]:
    """List what was said of a regrade, or of all, oldest first."""
    rows = select(t.DecisionRow).order_by(t.DecisionRow.id)
    rows = rows if run is None else rows.where(t.DecisionRow.run == run)
    with store.reading() as session:
        return [
            Decision(row.run, Kind(row.kind), row.author, row.reason, row.made)
            for row in session.scalars(rows)
        ]


def decide(store: Store, decision: Decision) -> bool:
    """Let a regrade count, or never count; False if it is none, decided, or still being graded.

    What still waits of one that is discarded is not graded.
    """
    own = RegradingRow.run == decision.run
    with store.writing() as session:
        if session.get(t.RunRow, decision.run, with_for_update=LOCK) is None:
            return False
        rows = select(t.DecisionRow.kind).where(t.DecisionRow.run == decision.run)
        if [*session.scalars(rows)] != [Kind.ASKED]:
            return False
        waits = select(exists().where(own, RegradingRow.state.in_((WAITING, RUNNING))))
        if decision.kind is Kind.PUBLISHED and session.scalar(waits):
            return False
        session.add(_row(decision.run, decision))
        rest = update(RegradingRow).where(own, RegradingRow.state == WAITING)
        session.execute(rest.values(state=SUPERSEDED, ended=decision.made))
        return True


def _row(run: str, decision: Decision) -> t.DecisionRow:
    return t.DecisionRow(
        run=run,
        kind=decision.kind,
        author=decision.author,
        reason=decision.reason,
        made=decision.made,
    )
