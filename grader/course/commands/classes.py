"""What ``lab collect`` and ``lab grade-all`` do between their options and their exit codes."""

import sys
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from grader.course.commands.progress import Bar, Mean, duration
from grader.course.config import Course, load_course
from grader.course.database.records import Attempt, Student
from grader.course.database.spool import Spool
from grader.course.database.store import Store
from grader.course.grading.batch import Batch, Plan, Waiting, only_one, plan, run_batch, spool_of
from grader.course.grading.collecting.collect import Collected, collect_class
from grader.course.grading.collecting.fetch import Bounds
from grader.course.grading.collecting.ledger import Collection, Outcome
from grader.course.grading.collecting.roster import read_roster
from grader.course.grading.engines import Engine, LocalEngine
from grader.course.grading.leases import beside, visible_gpus
from grader.course.grants import granted
from grader.errors import CannotGrade, UsageError
from grader.judge.grade import choose_device
from grader.labs.lab import Lab, find_lab, find_root
from grader.sandbox.level import choose_level
from grader.text import number, visible_line


@dataclass(frozen=True, slots=True)
class CollectOrder:
    """A collection as asked for; ``roster`` None is the course's."""

    lab: str
    course: Path
    roster: Path | None
    late: bool
    refresh: bool
    jobs: int
    timeout: float
    megabytes: int


def collect(order: CollectOrder) -> int:
    """Collect a lab of a class; 1 if there is a student of whom there is nothing to grade."""
    course, lab = load_course(order.course), find_lab(order.lab, find_root())
    if order.late and not course.late.takes_late:
        raise UsageError("the course has no late days", "[late] in course.toml gives some")
    students = _students(order, course)
    found: dict[str, Collected] = {}
    with (
        only_one(course, lab, "collected"),
        Store.open(course.database, course.folder) as store,
        Bar(f"collecting {lab.name}", len(students), sys.stderr) as bar,
    ):
        _tell_roster(course, lab, students, store.students())
        store.put_students(students)
        collection = Collection(
            course=granted(course, store.grants()),
            lab=lab,
            now=datetime.now(UTC),
            late=order.late,
            refresh=order.refresh,
            bounds=Bounds(order.timeout, order.megabytes),
        )

        def on_collected(item: Collected) -> None:
            for frozen in item.records:
                store.add_frozen(frozen)
            found[item.student.id] = item
            bar.step(f"{item.student.id}: {item.remark or item.outcome}")

        collect_class(collection, students, store.collections(lab.name), order.jobs, on_collected)
    return _tell_collected(collection, [found[student.id] for student in students])


def _students(order: CollectOrder, course: Course) -> tuple[Student, ...]:
    file = order.roster or course.roster
    roster = read_roster(file, course.remote, course.branch)
    for problem in roster.problems:
        print(f"error: {file.name}, {visible_line(problem)}", file=sys.stderr)
    if roster.problems:
        count = len(roster.problems)
        rows = "1 row" if count == 1 else f"{count} rows"
        told = f"{rows} of {file.name} cannot be used"
        raise UsageError(told, "nothing was collected: correct them and run this again")
    return roster.students


def _tell_roster(
    course: Course, lab: Lab, students: Sequence[Student], before: Sequence[Student]
) -> None:
    """Name who is off the roster, or extended without being on it: an id may be mistyped."""
    known = {student.id for student in students}
    gone = [student.id for student in before if student.id not in known]
    if gone:
        told = "no longer on the roster, so in no grading or mark list from now on"
        print(f"note: {told}: {_some(gone)}", file=sys.stderr)
    strange = [name for name, number in course.extensions if number == lab.number]
    strange = [name for name in strange if name not in known]
    if strange:
        keys = "[extensions] or [extra_time]" if course.extra_time else "[extensions]"
        told = f"{keys} of lab {lab.number} name who is not on the roster"
        print(f"note: {told}: {visible_line(_some(strange))}", file=sys.stderr)


def _some(names: Sequence[str], most: int = 5) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def _tell_collected(collection: Collection, found: list[Collected]) -> int:
    for item in found:
        if item.remark:
            sign = "missing" if item.outcome is Outcome.MISSING else "look at"
            print(visible_line(f"{sign} {item.student.id} ({item.student.name}): {item.remark}"))
    counts = Counter(item.outcome for item in found)
    told = ", ".join(f"{counts[outcome]} {outcome}" for outcome in Outcome if counts[outcome])
    print(f"{collection.lab.name}: {told}")
    due = collection.course.deadlines.get(collection.lab.number)
    if counts[Outcome.FROZEN] and due is None:
        print(
            "note: the lab has no deadline in course.toml, so this is frozen as it is now;"
            " --refresh collects again",
            file=sys.stderr,
        )
    if (counts[Outcome.FROZEN] or counts[Outcome.LATE]) and due is not None:
        print(
            "note: frozen after the deadline by the dates in the commits, which students' own"
            " machines write: what was pushed when, only the server's log can tell",
            file=sys.stderr,
        )
    return 1 if counts[Outcome.MISSING] else 0


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


def grade_all(order: GradeOrder) -> int:
    """Grade a lab of a class; 3 if some could not be graded, by our fault."""
    course, lab = load_course(order.course), find_lab(order.lab, find_root())
    engine_name = order.engine or course.engine
    if engine_name == "local":
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
    )
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
    for student, why in todo.absent.items():
        print(visible_line(f"nothing to grade {student}: {why}"))
    told = f"{batch.lab.name}, run {todo.run}: {tally.new} graded"
    if tally.before:
        told += f", {tally.before} were before"
    if todo.jobs:
        told += f", in {duration(seconds)}"
    print(f"{told}; {tally.mean}" if str(tally.mean) else told)
    for student, failure in tally.failures.items():
        print(visible_line(f"not graded {student}: {failure}"))
