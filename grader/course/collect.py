"""Freeze what each student of a class had handed in at the deadline.

What a server had at a moment cannot be asked of git later. Collected before the deadline, a commit
counts for now and a later collection may replace it; from the deadline on the newest commit that is
not dated after it is frozen for good, since the student may write any date but the files and the
hash of what was seen stay. Nothing that was collected is ever removed.
"""

import os
import shutil
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from pathlib import Path

from grader.course import fetch
from grader.course.config import Course
from grader.course.fetch import Bounds, Broken, Commit
from grader.course.records import Frozen, Student
from grader.errors import GitError, UsageError
from grader.lab import Lab

FOLDER = "collected"


class Outcome(StrEnum):
    """What became of one student's collection."""

    FROZEN = "frozen"
    SEEN = "collected before the deadline"
    KEPT = "kept as frozen earlier"
    MISSING = "nothing to collect"


@dataclass(frozen=True, slots=True)
class Collected:
    """One student's line; ``remark`` is for a person to look at."""

    student: Student
    outcome: Outcome
    frozen: Frozen | None
    remark: str = ""


@dataclass(frozen=True, slots=True)
class Collection:
    """What to collect and how; ``now`` is one moment for the whole class."""

    course: Course
    lab: Lab
    now: datetime
    late: bool = False  # up to the last late day, not to the deadline
    refresh: bool = False
    bounds: Bounds = field(default_factory=Bounds)

    def until(self, student: str) -> datetime | None:
        """Return the last moment at which a commit may be dated."""
        due = self.course.deadline(student, self.lab.number)
        if due is not None and self.late:
            due += timedelta(days=self.course.late.days)
        return due


OnCollected = Callable[[Collected], None]


def collect_class(
    order: Collection,
    students: Sequence[Student],
    earlier: Sequence[Frozen],
    jobs: int,
    on_collected: OnCollected,
) -> None:
    """Collect from every student; ``on_collected`` hears each one, in the caller's thread.

    Raises UsageError if the remote of all cannot be reached; a student's own never stops it.
    """
    before = {frozen.student: frozen for frozen in earlier if frozen.path}
    wanted: list[Student] = []
    for student in students:
        kept = before.get(student.id)
        if kept is not None and not order.refresh and _is_final(order, kept):
            on_collected(Collected(student, Outcome.KEPT, kept))
        else:
            wanted.append(student)
    branches = _shared_branches(order, wanted)
    with ThreadPoolExecutor(max_workers=jobs) as pool:
        futures = [
            pool.submit(_collect, order, student, before.get(student.id), branches)
            for student in wanted
        ]
        try:
            for future in as_completed(futures):
                on_collected(future.result())
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _is_final(order: Collection, frozen: Frozen) -> bool:
    due = order.course.deadline(frozen.student, order.lab.number)
    if due is not None and order.late and frozen.committed is not None and frozen.committed <= due:
        return False  # it was in time: what came later is collected beside it
    until = order.until(frozen.student)
    return until is None or frozen.collected >= until


def _is_closed(order: Collection, frozen: Frozen) -> bool:
    due = order.course.deadline(frozen.student, order.lab.number)
    return due is None or frozen.collected >= due


def _shared_branches(order: Collection, students: Sequence[Student]) -> frozenset[str]:
    """Return the branches of the remote of all; asked once, and only if someone needs it."""
    if all(student.repository for student in students):
        return frozenset()
    course = order.course
    try:
        return frozenset(fetch.heads(course.remote, course.folder, order.bounds.seconds))
    except GitError as error:
        hint = 'check "remote" in course.toml, the network and your key'
        raise UsageError(f"{course.remote} cannot be read: {error.message}", hint) from None


def _collect(
    order: Collection, student: Student, before: Frozen | None, branches: frozenset[str]
) -> Collected:
    try:
        if not student.repository and student.branch not in branches:
            raise Broken(f"there is no branch {student.branch}")
        return _freeze(order, student, before)
    except Broken as error:
        problem = str(error)
    except (GitError, OSError) as error:
        problem = (
            error.message
            if isinstance(error, GitError)
            else f"on this machine: {error.strerror or error}"
        )
    if before is not None:
        kept = f"{problem}; what was collected on {before.collected:%Y-%m-%d %H:%M} UTC stays"
        return Collected(student, Outcome.KEPT, before, kept)
    none = Frozen(student.id, order.lab.name, "", None, order.now, "", problem)
    return Collected(student, Outcome.MISSING, none, problem)


def _freeze(order: Collection, student: Student, before: Frozen | None) -> Collected:
    until = order.until(student.id)
    remote = _location(order.course, student)
    with fetch.fetched(remote, student.branch, order.bounds) as repository:
        # The tip itself before the deadline; a clock that goes wrong must not hide it.
        open_still = until is None or order.now < until
        commit = fetch.newest(repository, None if open_still else until)
        if commit is None:
            raise Broken(_too_late(repository, student, until))
        doubt = fetch.doubts(repository, commit, order.now, before.commit if before else "")
        files, remark = fetch.take(repository, commit.hash, order.lab)
    path = str(_keep(order, student, commit, files).relative_to(order.course.folder))
    if before is not None and _is_closed(order, before) and before.commit == commit.hash:
        if before.path == path:
            return Collected(student, Outcome.KEPT, before, doubt)
    frozen = Frozen(student.id, order.lab.name, commit.hash, commit.date, order.now, path, remark)
    outcome = Outcome.SEEN if until is not None and open_still else Outcome.FROZEN
    return Collected(student, outcome, frozen, "; ".join(filter(None, (remark, doubt))))


def _location(course: Course, student: Student) -> str:
    """Return the URL, or the path; a relative path starts where course.toml lies."""
    if not student.repository:
        return course.remote
    path = course.folder / Path(student.repository)
    return str(path) if path.exists() else student.repository


def _too_late(repository: Path, student: Student, until: datetime | None) -> str:
    told = f"{student.branch} has no commit dated up to {until:%Y-%m-%d %H:%M} UTC"
    if (repository / "shallow").exists():
        return f"{told} (too large: only its last commit was looked at)"
    return told


def _keep(order: Collection, student: Student, commit: Commit, files: dict[str, bytes]) -> Path:
    """Write the files of a commit, all or none; what is there already is left as it is."""
    top = order.course.folder / FOLDER
    top.mkdir(mode=0o700, exist_ok=True)
    folder = top / order.lab.name / student.id
    place = folder / commit.hash[:16]
    if place.is_dir():
        return place
    folder.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=".draft-", dir=folder))
    try:
        for name, content in files.items():
            with open(draft / name, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
        draft.rename(place)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return place
