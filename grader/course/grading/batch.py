"""Grade what was collected from a class, so that a kill at any moment costs only what it cut off.

A run is a row of its own, and each result a row that is added when its grading ends; resuming is
nothing but leaving out what the run has already. Only gradings that failed by our fault are made
again, and only so often.
"""

import fcntl
import os
from collections import deque
from collections.abc import Callable, Container, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from difflib import get_close_matches

from grader.course.config import Course
from grader.course.database.decisions import start_regrade
from grader.course.database.records import OF_SERVICE, Attempt, Decision, Frozen
from grader.course.database.spool import DiskFull, ResultLost, Spool
from grader.course.database.store import Store
from grader.course.grading.engines import Engine
from grader.course.grading.jobs import Done, Job, attempt_of, lab_version
from grader.errors import CannotGrade, StoreError, UsageError
from grader.labs.lab import Lab
from grader.labs.standing import FOLDER
from grader.report.facts.measured import listed, table_of, text_of
from grader.report.facts.summary import AT_FAULT

SPOOL = "spool"
MOST_FAILURES = 12  # in a row


@dataclass(frozen=True, slots=True)
class Batch:
    """One lab of a class, as asked for. ``retries`` are of gradings that failed by our fault."""

    course: Course
    lab: Lab
    device: str = "cpu"
    sandbox: str = "required"
    seed: int | None = None
    engine: str = "local"
    retries: int = 2
    resume: bool = False
    students: tuple[str, ...] = ()  # none: all
    beside: int = 1  # gradings on a GPU at a time
    recorded: bool = True  # else no run is started for it
    asked: Decision | None = None  # on trial: counts for nothing until somebody says so
    failed: str = ""  # only work whose newest grading failed this test
    outdated: bool = False  # only work whose newest grading was by another version of the lab


@dataclass(frozen=True, slots=True)
class Plan:
    """A run and what is left of it; ``absent`` are those of whom there is nothing to grade."""

    run: str  # "" where none is recorded
    jobs: tuple[Job, ...]
    frozen: dict[tuple[str, str], Frozen]  # by student and commit
    graded: tuple[Attempt, ...]  # what the run has already
    version: str  # of the lab as it is now
    absent: dict[str, str]  # why, by student

    @property
    def outdated(self) -> int:
        """How many of the run were graded with another version of the lab."""
        return sum(version_of(attempt) != self.version for attempt in self.graded)


OnAttempt = Callable[[Attempt, str], None]  # with what failed of ours, or ""


@contextmanager
def only_one(course: Course, lab: Lab, done: str = "graded") -> Generator[None, None, None]:
    """Hold the right to grade a lab of a course, or what else is to be ``done`` to it.

    Raises UsageError if another process has it, CannotGrade if nothing can be written there.
    """
    folder = course.folder / FOLDER
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder / f"{done}-{lab.name}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC)
    except OSError as error:
        told = f"nothing can be written to {folder}: {error.strerror}"
        raise CannotGrade(told, "check its permissions, and those of the course's folder") from None
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            told = f"{lab.name} of this course is being {done} already"
            raise UsageError(told, "wait until that has ended") from None
        yield
    finally:
        os.close(handle)


def spool_of(course: Course, store: Store) -> Spool:
    """Return the place of a course's results on their way to the database."""
    return Spool(course.folder / FOLDER / SPOOL, store)


def plan(batch: Batch, store: Store) -> Plan:
    """Start a run, or continue one, and list what it still has to grade.

    Each state of a student's files that was ever collected is an attempt, not just the newest.
    """
    lab = batch.lab
    newest = {item.student: item for item in store.frozen(lab.name)}
    _check_students(batch, newest, store)
    version = lab_version(lab)
    meant = _meant(batch, store, version)
    if meant is not None and not meant:
        return Plan("", (), {}, (), version, {})
    students = tuple(sorted(batch.students if meant is None else {name for name, _ in meant}))
    run = _run(batch, store, students)
    frozen = {(item.student, item.commit): item for item in store.collections(lab.name)}
    graded = [attempt for attempt in store.attempts(lab.name, run=run) if not attempt.infra]
    done = {(attempt.student, attempt.commit) for attempt in graded}
    worked = {name for name, _ in frozen}
    jobs: list[Job] = []
    absent: dict[str, str] = {}
    for student in store.students():
        if batch.students and student.id not in batch.students:
            continue
        own = [item for (name, _), item in frozen.items() if name == student.id]
        if meant is not None:
            own = [item for item in own if (student.id, item.commit) in meant]
        elif not own and worked.isdisjoint(batch.course.team(student.id, lab.number)):
            absent[student.id] = _why_absent(newest.get(student.id))
        for item in own:
            if (student.id, item.commit) not in done:
                job = _job(batch, item, version)
                if job is None:
                    absent[student.id] = f"{item.path} is gone: lab collect --refresh"
                else:
                    jobs.append(job)
    return Plan(run, tuple(jobs), frozen, tuple(graded), version, absent)


def _meant(batch: Batch, store: Store, version: str) -> set[tuple[str, str]] | None:
    """Return the students and commits that are graded anew for what their newest grading said.

    None: all are. Raises UsageError if no grading of the lab knows the test.
    """
    if not batch.failed and not batch.outdated:
        return None
    newest = {(a.student, a.commit): a for a in store.attempts(batch.lab.name) if not a.infra}
    if batch.students:
        newest = {key: a for key, a in newest.items() if key[0] in batch.students}
    if batch.outdated:
        newest = {key: a for key, a in newest.items() if version_of(a) != version}
    if not batch.failed:
        return {*newest}
    known = {name for a in newest.values() for name in _names(a.report)}
    if batch.failed not in known:
        near = get_close_matches(batch.failed, known, 1)
        hint = f"did you mean {near[0]}?" if near else "lab gradebook items LAB --tests lists some"
        raise UsageError(f"no grading of {batch.lab.name} has a test {batch.failed!r}", hint)
    return {key for key, a in newest.items() if batch.failed in _names(a.report, AT_FAULT)}


def version_of(attempt: Attempt) -> object:
    """Return the version of the lab that an attempt was graded with."""
    return table_of(attempt.report.get("provenance")).get("lab_version")


def _names(report: Mapping[str, object], verdicts: Container[str] | None = None) -> set[str]:
    """Return the ids of tests with such verdicts, or of all, and their names alone."""
    tests = [table_of(test) for test in listed(report.get("tests"))]
    fit = [t for t in tests if verdicts is None or text_of(t.get("verdict")) in verdicts]
    ids = {text_of(test.get("id")) for test in fit}
    return ids | {name.partition("[")[0] for name in ids}


def _run(batch: Batch, store: Store, wanted: tuple[str, ...]) -> str:
    """Return the run to continue, of the same students, or a new one."""
    # Those of the grading service, and those on trial, are nobody else's to go on with.
    runs = [run for run in store.runs(batch.lab.name) if run.note not in OF_SERVICE]
    if batch.resume and runs:
        same = [run.id for run in runs if run.students == wanted]
        if same:
            return same[-1]
        of = " ".join(f"--student {name}" for name in runs[-1].students) or "no --student"
        whom = "those students" if wanted else "the whole class"
        told = f"there is no run of {whom} to go on with: run {runs[-1].id} was started with {of}"
        raise UsageError(told, "the same options with --resume go on with it; without, a new run")
    if not batch.recorded:
        return ""
    if batch.asked is not None:
        return start_regrade(store, batch.lab.name, batch.asked, wanted)
    return store.start_run(batch.lab.name, datetime.now(UTC), batch.engine, wanted)


def _why_absent(newest: Frozen | None) -> str:
    return newest.problem if newest else "was not collected yet"


def _check_students(batch: Batch, newest: dict[str, Frozen], store: Store) -> None:
    known = {student.id for student in store.students()}
    if not newest:
        hint = f"lab collect {batch.lab.number} first"
        raise UsageError(f"nothing of {batch.lab.name} was collected", hint)
    for student in batch.students:
        if student not in known:
            raise UsageError(f"no student {student!r} is on the roster that was collected")


def files_of(course: Course, lab: Lab, path: str) -> dict[str, bytes]:
    """Read a lab's files in a folder of collected work, named from the course's; never a link."""
    found = {name: course.folder / path / name for name in lab.handed_in}
    there = {name: at for name, at in found.items() if at.is_file() and not at.is_symlink()}
    return {name: file.read_bytes() for name, file in there.items()}


def _job(batch: Batch, frozen: Frozen, version: str) -> Job | None:
    lab, files = batch.lab, files_of(batch.course, batch.lab, frozen.path)
    if not files or (lab.code_name not in files and not lab.is_manual):
        return None
    return Job(
        student=frozen.student,
        commit=frozen.commit,
        lab=str(lab.folder),
        version=version,
        files=files,
        device=batch.device,
        sandbox=batch.sandbox,
        seed=batch.seed,
        beside=batch.beside,
        questions=batch.course.questions,
        team=batch.course.team(frozen.student, lab.number),
    )


class Waiting(StoreError):
    """All was graded, but the database did not take everything; the rest waits in the spool."""


def run_batch(
    batch: Batch, todo: Plan, engine: Engine, spool: Spool, on_attempt: OnAttempt
) -> list[Attempt]:
    """Grade what is left of a run; return its new attempts.

    A result that the database refuses waits in the spool. Raises Waiting at the end if some still
    do; at once DiskFull where no more results could be kept, CannotGrade where none will come.
    """
    attempts: list[Attempt] = []
    for done in repeat_failures(todo.jobs, engine, batch.retries):
        frozen = todo.frozen[done.job.student, done.job.commit]
        attempt = attempt_of(done, batch.lab, todo.run, frozen.committed, batch.engine)
        try:
            with suppress(StoreError):  # it is safe in the spool
                spool.keep(attempt)
        except ResultLost:
            raise
        except DiskFull:
            on_attempt(attempt, done.why)  # the last one that there was room for
            raise
        attempts.append(attempt)
        on_attempt(attempt, done.why)
    try:
        spool.take_in()
    except StoreError as error:
        raise Waiting(error.message, f"{error.hint}; the next run takes them in") from None
    return attempts


def repeat_failures(jobs: Sequence[Job], engine: Engine, retries: int) -> Iterable[Done]:
    """Give each job's last grading as it ends, with no more at a time than the engine has places.

    What failed by our fault comes again after the others, when the cause may be gone, and has the
    engine alone: a machine that was asked for too much is the likeliest of causes. Raises
    CannotGrade where one after the other fails: then it is this machine, and waiting costs less.
    """
    waiting = deque((job, 0) for job in jobs)
    tries: dict[tuple[str, str], int] = {}
    running = in_a_row = 0
    while waiting or running:
        alone = False
        while waiting and running < max(engine.places, 1) and not alone:
            alone = waiting[0][1] > 0
            if alone and running:
                break
            job, tried = waiting.popleft()
            tries[job.student, job.commit] = tried
            engine.submit(job)
            running += 1
        done = engine.wait()
        running -= 1
        tried = tries[done.job.student, done.job.commit]
        in_a_row = in_a_row + 1 if done.infra else 0
        if done.infra and tried < retries:
            if in_a_row >= MOST_FAILURES:
                told = f"{in_a_row} gradings in a row failed by our fault, the last one: {done.why}"
                raise CannotGrade(told, "correct that, then go on with --resume")
            waiting.append((done.job, tried + 1))
        else:
            yield done
