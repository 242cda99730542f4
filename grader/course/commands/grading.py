"""What ``lab grade-all`` does between its options and its exit code."""

import sys
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from grader.course.commands.progress import Bar, Mean, duration
from grader.course.config import Course, load_course
from grader.course.database.records import Attempt, Decision, Kind
from grader.course.database.spool import Spool
from grader.course.database.store import Store
from grader.course.grading.batch import (
    Batch,
    Plan,
    Waiting,
    only_one,
    plan,
    repeat_failures,
    run_batch,
    spool_of,
)
from grader.course.grading.engines import Engine, LocalEngine
from grader.course.grading.jobs import Done
from grader.course.grading.leases import beside, visible_gpus
from grader.course.grading.unread import take_in
from grader.errors import CannotGrade, UsageError
from grader.judge.grade import choose_device
from grader.labs.lab import Lab, find_lab, find_root
from grader.labs.manual import WAITING
from grader.sandbox.level import choose_level
from grader.text import moment_text, number, visible_line

TRIAL_HINT = 'lab grade-all 3 --on-trial "the suite was mended" --author NAME'
SHOWN_COMMIT = 10  # characters


@dataclass(frozen=True, slots=True)
class GradeOrder:
    """The grading of a class as asked for; ``engine`` None is the course's."""

    lab: str
    course: Path
    jobs: int
    resume: bool
    engine: str | None
    device: str
    students: tuple[str, ...]
    retries: int
    seed: int | None
    sandbox: str
    beside: int | None  # gradings on a GPU at a time; None: what this machine has cores for
    dry_run: bool = False  # only tell what would be graded
    unrecorded: bool = False  # grade, and keep nothing of it
    failed: str = ""  # only what failed this test
    outdated: bool = False  # only what another version of the lab graded
    on_trial: str = ""  # why; then it counts once somebody lets it
    author: str = ""  # who says so


def grade_all(order: GradeOrder) -> int:
    """Grade a lab of a class; 3 if some could not be graded, by our fault."""
    course, lab = load_course(order.course), find_lab(order.lab, find_root())
    if lab.is_manual:
        return _take_in(course, lab, order)
    engine_name = order.engine or course.engine
    if engine_name == "local" and not order.dry_run:
        choose_level(order.sandbox)  # what holds for each of them is told at once
    device = _device(engine_name, order.device, lab)
    batch = Batch(
        course=course,
        lab=lab,
        device=device,
        sandbox=order.sandbox,
        seed=order.seed,
        engine=engine_name,
        retries=order.retries,
        resume=order.resume,
        students=order.students,
        beside=order.beside or _beside(engine_name, device),
        recorded=not (order.dry_run or order.unrecorded),
        asked=_asked(order),
        failed=order.failed,
        outdated=order.outdated,
    )
    if not batch.recorded:
        return _leave_no_trace(batch, order)
    with only_one(course, lab), Store.open(course.database, course.folder) as store:
        spool = spool_of(course, store)
        spool.open()
        try:
            taken = spool.take_in()
            if taken:
                print(f"note: {taken} results of an earlier run were taken in", file=sys.stderr)
            return _grade(batch, order, plan(batch, store), spool)
        finally:
            spool.close()


def _take_in(course: Course, lab: Lab, order: GradeOrder) -> int:
    """Record what was collected of a lab that people grade: nothing is run."""
    recorded = not (order.dry_run or order.unrecorded)
    batch = Batch(
        course,
        lab,
        students=order.students,
        recorded=recorded,
        asked=_asked(order),
        failed=order.failed,
        outdated=order.outdated,
    )
    with only_one(course, lab), Store.open(course.database, course.folder) as store:
        found = take_in(batch, store)
    for attempt in found.fresh if not recorded else ():
        handed_in = moment_text(attempt.submitted, course.zone)
        told = f"would be {WAITING}: {attempt.student}, {attempt.commit[:SHOWN_COMMIT]}"
        print(visible_line(f"{told} of {handed_in}"))
    for student, why in found.absent.items():
        print(visible_line(f"nothing to read of {student}: {why}"))
    before = f", {found.before} were recorded before" if found.before else ""
    run = f", run {found.run}" if found.run else ""
    told = f"{lab.name}{run}: people grade it; {len(found.fresh)} new {WAITING}{before}"
    print(told if recorded else f"{told}; nothing was recorded")
    return 0


def _asked(order: GradeOrder) -> Decision | None:
    """Return the word by which a run is on trial; raises UsageError."""
    if not order.on_trial and not order.author:
        return None
    if not (order.on_trial.strip() and order.author.strip()):
        raise UsageError("a regrade on trial is somebody's, and for a reason", TRIAL_HINT)
    if order.resume:
        raise UsageError("a regrade on trial is not gone on with", "discard it, and ask anew")
    said = order.author.strip(), order.on_trial.strip()
    return Decision("", Kind.ASKED, *said, datetime.now(UTC))


def _leave_no_trace(batch: Batch, order: GradeOrder) -> int:
    """Tell what would be graded, or grade it, and record nothing."""
    with Store.open(batch.course.database, batch.course.folder) as store:
        todo = plan(batch, store)
    if order.dry_run or not todo.jobs:
        return _tell_plan(batch, todo)
    with closing(_engine(batch, order, len(todo.jobs))) as engine:
        return _grade_unrecorded(batch, todo, engine)


def _device(engine: str, wanted: str, lab: Lab) -> str:
    """Return "cpu" or "cuda": the nodes of a cluster may have what this machine lacks."""
    if wanted == "auto" and lab.limits.ranks > 1:
        return "cpu"  # a grading of a class has one GPU at most
    if engine == "local":
        return choose_device(wanted)
    from grader.course.grading import cluster

    return cluster.choose_device(wanted)


def _beside(engine: str, device: str) -> int:
    """Return how many gradings share a GPU; what nodes of a cluster have cores for is not known."""
    return beside(len(visible_gpus())) if (engine, device) == ("local", "cuda") else 1


class Tally:
    """What came of a run so far."""

    def __init__(self, graded: Sequence[Attempt]) -> None:
        self.before = len(graded)
        self.new = 0
        self.failures: dict[str, str] = {}
        self.mean = Mean()
        for attempt in graded:
            self.mean.add(attempt)

    def add(self, attempt: Attempt, failure: str) -> str:
        """Count an attempt and return its line."""
        self.mean.add(attempt)
        if failure:
            self.failures[attempt.student] = failure
        else:
            self.new += 1
        points = f"{number(attempt.points)} of {number(attempt.possible)}"
        return f"{attempt.student}: {failure or points}"

    @property
    def kept(self) -> str:
        """What is safe, in words."""
        return f"{self.before + self.new} are graded and kept"


def _grade(batch: Batch, order: GradeOrder, todo: Plan, spool: Spool) -> int:
    if not todo.run:
        print(f"{batch.lab.name}: there is no such work, so nothing was graded")
        return 0
    if todo.outdated:
        told = f"{todo.outdated} of run {todo.run} were graded before {batch.lab.name} was changed"
        print(f"note: {told}; without --resume all are graded anew", file=sys.stderr)
    started, tally = time.monotonic(), Tally(todo.graded)
    with Bar(f"grading {batch.lab.name}", len(todo.jobs), sys.stderr) as bar:

        def on_attempt(attempt: Attempt, failure: str) -> None:
            bar.step(tally.add(attempt, failure), str(tally.mean))

        try:
            if todo.jobs:
                with closing(_engine(batch, order, len(todo.jobs))) as engine:
                    run_batch(batch, todo, engine, spool, on_attempt)
        except KeyboardInterrupt:
            told = f"interrupted: {tally.kept}; --resume goes on with the others"
            print(told, file=sys.stderr)
            return 130
        except Waiting:
            raise
        except CannotGrade as error:
            told = f"{error.message}; {tally.kept}"
            raise CannotGrade(told, error.hint or "--resume goes on") from None
    _tell_graded(batch, todo, tally, time.monotonic() - started)
    return 3 if tally.failures else 0


def _engine(batch: Batch, order: GradeOrder, total: int) -> Engine:
    if batch.engine == "ray":
        from grader.course.grading.cluster import RayEngine

        return RayEngine(batch.device, batch.beside)
    gpus = visible_gpus() if batch.device == "cuda" else ()
    return LocalEngine(min(order.jobs, total), gpus, batch.beside)


def _tell_graded(batch: Batch, todo: Plan, tally: Tally, seconds: float) -> None:
    _tell_absent(todo)
    told = f"{batch.lab.name}, run {todo.run}: {tally.new} graded"
    if tally.before:
        told += f", {tally.before} were before"
    if todo.jobs:
        told += f", in {duration(seconds)}"
    print(f"{told}; {tally.mean}" if str(tally.mean) else told)
    for student, failure in tally.failures.items():
        print(visible_line(f"not graded {student}: {failure}"))
    if batch.asked is not None:
        print(f"on trial: no mark is another by it. lab gradebook --trial {todo.run} shows what")
        print(f"would be; then lab gradebook publish {todo.run}, or discard {todo.run}")


def _tell_plan(batch: Batch, todo: Plan) -> int:
    """Print what of a run would be graded, and who has nothing to grade."""
    for job in todo.jobs:
        handed_in = moment_text(todo.frozen[job.student, job.commit].committed, batch.course.zone)
        told = f"would grade {job.student}: {job.commit[:SHOWN_COMMIT]} of {handed_in}"
        print(visible_line(told))
    _tell_absent(todo)
    before = f", {len(todo.graded)} were before" if todo.graded else ""
    print(f"{batch.lab.name}: {len(todo.jobs)} would be graded{before}; nothing was recorded")
    return 0


def _grade_unrecorded(batch: Batch, todo: Plan, engine: Engine) -> int:
    """Grade and print the points of each task; 3 if something failed by our fault."""
    failed = 0
    for done in repeat_failures(todo.jobs, engine, batch.retries):
        print(visible_line(_tasks_of(done), 400), flush=True)
        failed += done.infra
    _tell_absent(todo)
    graded = len(todo.jobs) - failed
    print(f"{batch.lab.name}: {graded} graded; nothing was recorded, and no mark is another")
    return 3 if failed else 0


def _tell_absent(todo: Plan) -> None:
    """Print of whom there is nothing to grade, and why."""
    for student, why in todo.absent.items():
        print(visible_line(f"nothing to grade {student}: {why}"))


def _tasks_of(done: Done) -> str:
    whose = f"{done.job.student}, {done.job.commit[:SHOWN_COMMIT]}"
    if done.infra or done.report is None:
        return f"not graded {whose}: {done.why}"
    tasks = ", ".join(f"{t.id} {number(t.score)}/{number(t.points)}" for t in done.report.tasks)
    points = f"{number(done.report.score)} of {number(done.report.graded)}"
    return f"{whose}: {points} ({tasks})"
