"""Work of a manual lab on its way to people: an attempt that no judge makes, once for each work.

It says when the work came and waits for a reader; points are given to it later, and by people.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from grader.course.database.records import Attempt
from grader.course.database.store import Store
from grader.course.grading.batch import Batch, plan
from grader.course.grading.jobs import lab_version
from grader.errors import UsageError
from grader.labs.lab import Lab
from grader.labs.manual import PEOPLE, unread


@dataclass(frozen=True, slots=True)
class TakenIn:
    """What was recorded of a class, or would be; ``absent`` says why there is nothing of some."""

    run: str  # "" where nothing was recorded
    fresh: tuple[Attempt, ...]
    before: int  # works that were recorded earlier
    absent: Mapping[str, str]


def unread_attempt(
    lab: Lab, student: str, commit: str, submitted: datetime | None, now: datetime, run: str = ""
) -> Attempt:
    """Return what the gradebook keeps of work that waits for a reader."""
    report = unread(lab.number, lab.topic, lab.tasks)
    report.provenance.update(commit=commit, lab_version=lab_version(lab), started=now.isoformat())
    worth = report.score, report.graded, report.exit_code
    key = student, lab.name, run, commit, submitted, now
    return Attempt(*key, 0.0, *worth, report.to_json(), suite=PEOPLE)


def take_in(batch: Batch, store: Store) -> TakenIn:
    """Record all collected work of a manual lab that was not recorded before.

    Raises UsageError where gradings are asked for that there are none of.
    """
    lab = batch.lab
    if batch.asked is not None or batch.failed or batch.outdated:
        raise UsageError(
            f"people grade {lab.name}: there is nothing to grade again",
            "lab gradebook score, or points, gives other points",
        )
    todo = plan(Batch(batch.course, lab, students=batch.students, recorded=False), store)
    known = {(each.student, each.commit) for each in store.attempts(lab.name)}
    found = [(job.student, job.commit) for job in todo.jobs]
    new = [key for key in found if key not in known]
    now = datetime.now(UTC)
    run = ""
    if new and batch.recorded:
        run = store.start_run(lab.name, now, PEOPLE, tuple(sorted(batch.students)))
    fresh = [unread_attempt(lab, *key, todo.frozen[key].committed, now, run) for key in new]
    for attempt in fresh if run else ():
        store.add_attempt(attempt)
    return TakenIn(run, tuple(fresh), len(found) - len(new), todo.absent)
