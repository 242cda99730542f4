"""Freeze what each student of a class had handed in at the deadline.

What a server had at a moment cannot be asked of git later. Collected before the deadline, a commit
counts for now and a later collection may replace it; from the deadline on the newest commit that is
not dated after it is frozen for good, since the student may write any date but the files and the
hash of what was seen stay. Nothing that was collected is ever removed.

Late or in time is the last commit that changed the lab's files, not the tip of the branch.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from grader.course.config import Course
from grader.course.database.records import Frozen, Student
from grader.course.git import OFFLINE, git
from grader.course.grading.collecting import fetch
from grader.course.grading.collecting.answer import take
from grader.course.grading.collecting.branch import (
    Commit,
    doubts,
    last_change,
    newer_elsewhere,
    newest,
)
from grader.course.grading.collecting.fetch import Broken
from grader.course.grading.collecting.ledger import Collection, Ledger, Outcome, Taken, asked
from grader.course.grading.collecting.lookalikes import (
    Stray,
    by_student,
    resembling,
    strays,
    there_is,
)
from grader.errors import GitError, GitLimit, UsageError
from grader.limited import Resource
from grader.readers import Budget
from grader.text import moment_text


@dataclass(frozen=True, slots=True)
class Collected:
    """One student's line; ``remark`` is for a person to look at, ``records`` are to be kept."""

    student: Student
    outcome: Outcome
    frozen: Frozen
    remark: str = ""
    records: tuple[Frozen, ...] = ()
    asked: bool = True  # of what is frozen for good nothing new is known


@dataclass(frozen=True, slots=True)
class Shared:
    """What was seen of the remote of all; no names: so many that git cannot list them."""

    branches: frozenset[str] | None
    strays: tuple[Stray, ...] = ()
    like: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])  # by id


OnCollected = Callable[[Collected], None]


def collect_class(
    order: Collection,
    students: Sequence[Student],
    earlier: Sequence[Frozen],
    jobs: int,
    on_collected: OnCollected,
) -> tuple[Stray, ...]:
    """Collect from every student; ``on_collected`` hears each one, in the caller's thread.

    ``earlier`` is all that was ever collected, oldest first. Returns the branches of the remote of
    all that are nobody's, where it was asked. Raises UsageError if it cannot be reached; a
    student's own never stops it.
    """
    before: dict[str, list[Frozen]] = {student.id: [] for student in students}
    for frozen in earlier:
        if frozen.path and frozen.student in before:
            before[frozen.student].append(frozen)
    wanted: list[Student] = []
    for student in students:
        kept = before[student.id]
        if kept and not order.refresh and not _open_moments(order, student, kept):
            on_collected(Collected(student, Outcome.KEPT, kept[-1], asked=False))
        else:
            wanted.append(student)
    shared = _shared(order, wanted, students)
    with ThreadPoolExecutor(max_workers=jobs) as pool:
        futures = [
            pool.submit(_collect, order, student, before[student.id], shared) for student in wanted
        ]
        try:
            for future in as_completed(futures):
                on_collected(future.result())
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return shared.strays


def _open_moments(
    order: Collection, student: Student, before: Sequence[Frozen]
) -> list[datetime | None]:
    """Return the moments up to which is to be asked: each once, after it has passed.

    Where a deadline was moved since, or an extension granted, it is another moment.
    """
    return [
        until
        for until in order.moments(student.id)
        if order.refresh or not any(asked(frozen, until) for frozen in before)
    ]


def _shared(order: Collection, wanted: Sequence[Student], roster: Sequence[Student]) -> Shared:
    """Ask for the branches of the remote of all: once, and only if someone needs it.

    Where there are too many to list, each is asked for by its name.
    """
    if all(student.repository for student in wanted):
        return Shared(frozenset())
    course = order.course
    try:
        names = frozenset(student.branch for student in wanted)
        branches = frozenset(fetch.heads(course.remote, course.folder, order.bounds, names))
    except GitLimit as limit:
        if limit.resource == Resource.TIME:
            raise _unreadable(course, limit) from None
        return Shared(None)
    except GitError as error:
        raise _unreadable(course, error) from None
    found = strays(course, roster, branches)
    return Shared(branches, found, by_student(found))


def _unreadable(course: Course, error: GitError) -> UsageError:
    hint = 'check "remote" in course.toml, the network and your key'
    return UsageError(f"{course.remote} cannot be read: {error.message}", hint)


def _collect(
    order: Collection, student: Student, before: Sequence[Frozen], shared: Shared
) -> Collected:
    like = shared.like.get(student.id, ())
    hints = [resembling(student.id, like)]  # for the staff alone
    try:
        branches = shared.branches
        if not student.repository and branches is not None and student.branch not in branches:
            others = [name for name in _own_branches(student, branches) if name not in like]
            raise Broken(f"there is no branch {student.branch}{there_is(others)}")
        return _freeze(order, student, before, shared, hints)
    except Broken as error:
        problem = str(error)
    except (GitError, OSError) as error:
        problem = (
            error.message
            if isinstance(error, GitError)
            else f"on this machine: {error.strerror or error}"
        )
    if before:
        kept = before[-1]
        told = f"what was collected on {moment_text(kept.collected)} stays"
        return Collected(student, Outcome.KEPT, kept, _joined(problem, told, *hints))
    none = Frozen(student.id, order.lab.name, "", None, order.now, "", problem)
    return Collected(student, Outcome.MISSING, none, _joined(problem, *hints), (none,))


def _joined(*remarks: str) -> str:
    return "; ".join(dict.fromkeys(filter(None, remarks)))


def _own_branches(student: Student, branches: Iterable[str]) -> list[str]:
    """Return the branches of the remote of all that seem to be a student's, but for the one."""
    word = re.compile(rf"(?<![A-Za-z0-9]){re.escape(student.id)}(?![A-Za-z0-9])", re.IGNORECASE)
    return sorted(name for name in branches if name != student.branch and word.search(name))


def _freeze(
    order: Collection,
    student: Student,
    before: Sequence[Frozen],
    shared: Shared,
    hints: list[str],
) -> Collected:
    """Take the work of each moment that is to be asked for; raises Broken if there is none.

    Adds to ``hints`` what a person is to look at, whatever comes of it.
    """
    remote = location(order.course, student)
    found: list[Taken] = []
    problems: list[str] = []
    budget = Budget()  # of all that the student has handed in
    with fetch.fetched(remote, student.branch, order.bounds) as repository:
        for until in _open_moments(order, student, before):
            try:
                found.append(_take(order, student, repository, until, budget))
            except Broken as error:
                problems.append(str(error))
        commits = [commit for work in found for commit in (work.newest, work.change)]
        remarks = [*doubts(repository, commits, (item.commit for item in before), order.now)]
        remarks += _work_elsewhere(order, student, repository, shared)
    hints[:0] = remarks
    if not found:
        raise Broken(_joined(*problems[-1:]))
    ledger = Ledger(order, student.id, before)
    outcomes = [ledger.enter(work) for work in found]
    told = _joined(*ledger.remarks, *problems[-1:], *hints)
    outcome = min(outcomes, key=[*Outcome].index)
    return Collected(student, outcome, ledger.newest, told, tuple(ledger.fresh))


def _work_elsewhere(
    order: Collection, student: Student, repository: Path, shared: Shared
) -> list[str]:
    """Name the student's other branches that hold newer work on the lab, for a person to look."""
    try:
        if student.repository:
            remote = location(order.course, student)
            known = fetch.heads(remote, repository, order.bounds)
            others = sorted(name for name in known if name != student.branch)
        else:
            like = shared.like.get(student.id, ())
            others = sorted({*_own_branches(student, shared.branches or ()), *like})
        tip = newest(repository, None)
        fetched = fetch.fetch_tips(repository, others, order.bounds)
        names = newer_elsewhere(repository, fetched, order.lab, tip) if tip and fetched else []
    except (Broken, GitError):
        return []  # only a hint, and what is wrong is told elsewhere
    work = " or ".join(order.lab.needed)
    return [f"newer work on {work} lies on {', '.join(names)}"] if names else []


def _take(
    order: Collection,
    student: Student,
    repository: Path,
    until: datetime | None,
    budget: Budget,
) -> Taken:
    # The tip itself before the deadline; a clock that goes wrong must not hide it.
    open_still = until is None or order.now < until
    commit = newest(repository, None if open_still else until)
    if commit is None:
        raise Broken(_too_late(repository, student, until))
    try:
        files, remark = take(repository, commit.hash, order.lab, budget)
    except Broken as broken:
        raise Broken(_joined(str(broken), _too_late_for(repository, commit, until))) from None
    return Taken(until, commit, last_change(repository, commit, order.lab), files, remark)


def _too_late_for(repository: Path, commit: Commit, until: datetime | None) -> str:
    """Say that commits are left aside, whose work a person may see on the branch."""
    if git("rev-parse", fetch.TIP, folder=repository, env=OFFLINE) == commit.hash:
        return ""
    return f"what was committed after {moment_text(until)} does not count for it"


def location(course: Course, student: Student) -> str:
    """Return where a student's branch lies; a relative path starts where course.toml lies."""
    if not student.repository:
        return course.remote
    path = course.folder / Path(student.repository)
    return str(path) if path.exists() else student.repository


def _too_late(repository: Path, student: Student, until: datetime | None) -> str:
    told = f"{student.branch} has no commit dated up to {moment_text(until)}"
    if (repository / "shallow").exists():
        return f"{told} (too large: only its last commit was looked at)"
    return told
