"""Reports into students' repositories: on a branch of ours, which nobody else's commit is on.

Repositories are hostile: they are spoken to as collecting does. What the branch holds must be a
commit that was recorded before it was pushed; then a new one follows it. Nothing is ever forced.
"""

import os
import re
import tempfile
from collections import Counter
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from grader.course.config import Course
from grader.course.database.giving.records import Given, Step, Way
from grader.course.database.giving.returns import Returns
from grader.course.database.records import Student
from grader.course.git import git
from grader.course.grading.collecting.collect import location
from grader.course.grading.collecting.fetch import TIP, Bounds, Broken, fetched, heads
from grader.errors import GitError
from grader.service.giving.reports import Package

BRANCH = "feedback/"
OURS = "refs/heads/ours"
PERSON = "Course feedback <feedback@course.invalid>"
# At the other end of a path the repository's own settings would choose programs, with our rights.
_THERE = {
    "core.hooksPath": os.devnull,
    "core.fsmonitor": "false",
    "core.alternateRefsCommand": "true",
    "receive.autogc": "false",
    "receive.denyCurrentBranch": "refuse",
    "gc.auto": "0",
    "maintenance.auto": "false",
}
_URL = re.compile(r"(?!file:)[^/]*:")


class Refused(Exception):
    """A report cannot be given; the message says why, for the staff."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Where a report goes: what the branch holds, "" if it is not there, and whether it is new."""

    remote: str
    branch: str
    tip: str
    is_new: bool


class Branches:
    """Gives reports of a lab into the repositories of a class."""

    def __init__(self, course: Course, returns: Returns, students: Sequence[Student]) -> None:
        self._course = course
        self._returns = returns
        self._used = Counter(location(course, each) for each in students if each.repository)

    def plan(self, package: Package) -> Plan:
        """Look at a repository; raises Refused where nothing may be pushed."""
        student, lab = package.student, package.lab
        remote, branch = location(self._course, student), f"{BRANCH}{lab.name}"
        if not student.repository:
            raise Refused("has no repository of their own: others could read it in that of all")
        if self._used[remote] > 1:
            raise Refused("shares a repository with another student, who could read it")
        if student.branch == branch:
            raise Refused(f"hands in on {branch}: this branch is the student's")
        with tempfile.TemporaryDirectory(prefix="inferlab-give-") as folder:
            try:
                tip = heads(remote, Path(folder), Bounds(), (branch,)).get(branch, "")
            except GitError as error:
                raise Refused(f"their repository cannot be read: {error.message}") from None
        given = self._of(student, lab.name)
        if tip and tip not in {each.place for each in given}:
            raise Refused(
                f"their branch {branch} holds {tip[:10]}, which is not ours: nothing is written "
                "over it; ask for it to be renamed or deleted"
            )
        ours = [each.digest for each in given if each.place == tip]
        return Plan(remote, branch, tip, not tip or ours[-1] != package.digest)

    def give(self, package: Package, plan: Plan, now: datetime) -> str:
        """Push a report and return its commit; raises Refused."""
        try:
            with self._repository(plan) as folder:
                commit = _commit(folder, package, plan)
                self._record(package, Step.BEGUN, commit, "", now)
                try:
                    _push(folder, plan)
                except GitError as error:
                    self._record(package, Step.FAILED, commit, error.message, now)
                    raise
                self._record(package, Step.SENT, commit, "", now)
                return commit
        except (GitError, Broken) as error:
            told = error.message if isinstance(error, GitError) else str(error)
            raise Refused(f"nothing was pushed: {told}") from None

    def _of(self, student: Student, lab: str) -> list[Given]:
        given = self._returns.given(lab, Way.BRANCH)
        return [each for each in given if each.student == student.id]

    def _record(self, package: Package, step: Step, commit: str, told: str, now: datetime) -> None:
        who, what = package.student.id, package.digest
        given = Given(who, package.lab.name, Way.BRANCH, step, what, commit, told, now)
        self._returns.add_given(given)

    @contextmanager
    def _repository(self, plan: Plan) -> Generator[Path]:
        """Give a repository of our own that holds what the branch does."""
        if plan.tip:
            with fetched(plan.remote, plan.branch, Bounds()) as folder:
                if git("rev-parse", TIP, folder=folder) != plan.tip:
                    raise Broken(f"{plan.branch} was changed meanwhile")
                yield folder
            return
        with tempfile.TemporaryDirectory(prefix="inferlab-give-") as name:
            git("init", "--bare", "--quiet", "--template=", folder=Path(name))
            yield Path(name)


def _commit(folder: Path, package: Package, plan: Plan) -> str:
    files = {"report.md": package.markdown.encode(), "report.html": package.html.encode()}
    message = f"Give back the report of {package.lab.name}\n"
    stream = [f"commit {OURS}\ncommitter {PERSON} now\n".encode(), _data(message.encode())]
    stream += [f"from {plan.tip}\n".encode()] if plan.tip else []
    stream.append(b"deleteall\n")
    for name, content in files.items():
        stream += [f"M 100644 inline {name}\n".encode(), _data(content)]
    options = ("--quiet", "--date-format=now")
    git("fast-import", *options, folder=folder, stdin=b"".join(stream))
    return git("rev-parse", OURS, folder=folder)


def _push(folder: Path, plan: Plan) -> None:
    there: list[str] = []
    if not _URL.match(plan.remote):
        settings = " ".join(f"-c {key}={value}" for key, value in _THERE.items())
        there = [f"--receive-pack=git {settings} receive-pack"]
    what = f"{OURS}:refs/heads/{plan.branch}"
    git("push", "--quiet", "--no-verify", *there, "--", plan.remote, what, folder=folder)


def _data(content: bytes) -> bytes:
    return b"data %d\n%b\n" % (len(content), content)
