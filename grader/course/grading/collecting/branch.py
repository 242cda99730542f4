"""A student's branch as a line of commits: which one counts, and since when its work stands there.

Only commits that the branch itself has pointed to are looked at: first parents. Their dates are
what the student's clock said.
"""

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from grader.course.git import OFFLINE, git
from grader.course.grading.collecting.answer import places, state_of
from grader.course.grading.collecting.fetch import OTHERS, TIP, Broken
from grader.errors import GitError
from grader.labs.lab import Lab

MOST_COMMITS = 5_000  # among which the last change is looked for
SECONDS = 180.0  # in which it is found; a commit takes 10 ms
SHOWN_COMMIT = 12  # characters


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit and its committer's date, which is what the student's clock said."""

    hash: str
    date: datetime


def newest(repository: Path, until: datetime | None) -> Commit | None:
    """Return the branch's newest commit that is not dated after ``until``."""
    limit = () if until is None else (f"--min-age={int(until.timestamp())}",)
    for name, date in _line(repository, "-1", *limit, TIP):
        if date is None:
            raise Broken("its commit has a date that no clock shows")
        return Commit(name, date)
    return None


def last_change(repository: Path, commit: Commit, lab: Lab) -> Commit:
    """Return the last commit, up to this one, that changed what is collected of the lab.

    Its date is never after that of ``commit``: by then the work was there, whatever other clocks
    say.
    """
    limit = f"--max-count={MOST_COMMITS}"
    state, change = state_of(repository, commit.hash, lab), commit
    ends = time.monotonic() + SECONDS
    for name, date in _line(repository, limit, commit.hash, "--", *places(lab)):
        if state_of(repository, name, lab) != state:
            break
        if time.monotonic() > ends:
            raise Broken(
                f"its last change was not found within {SECONDS:g} s of reading its history"
            )
        change = Commit(name, min(date or commit.date, commit.date))
    return change


def doubts(
    repository: Path, commits: Iterable[Commit], earlier: Iterable[str], now: datetime
) -> Iterator[str]:
    """Say why dates or history are to be looked at by a person, one remark each.

    ``earlier`` are commits that were collected from this branch before.
    """
    seen = {commit.hash: commit for commit in commits}.values()
    if any(commit.date > now for commit in seen):
        yield "its date lies in the future"
    if any(_before_parent(repository, commit) for commit in seen):
        yield "its date lies before that of its parent: it may have been set by hand"
    if (repository / "shallow").exists():
        # Of what is not there nobody can say that it is gone, or newer.
        yield "not all of its history is here: nobody can tell by it whether its dates are true"
        return
    for name in dict.fromkeys(earlier):
        if not _is_part(repository, name):
            short = name[:SHOWN_COMMIT]
            yield f"the branch was rewritten: {short}, collected before, is no part of it"


def newer_elsewhere(repository: Path, branches: Iterable[str], lab: Lab, than: Commit) -> list[str]:
    """Return those of other branches, fetched, whose last commit is newer and has other work."""
    stubs = tuple(
        git("hash-object", "--stdin", folder=repository, stdin=(lab.folder / name).read_bytes())
        for name in lab.needed
    )
    known = {("",) * len(stubs), stubs, _code(repository, than.hash, lab)}
    found: list[str] = []
    for branch in branches:
        for name, date in _line(repository, "-1", f"{OTHERS}{branch}"):
            newer = date is not None and date > than.date
            if newer and _code(repository, name, lab) not in known:
                found.append(branch)
    return found


def _code(repository: Path, commit: str, lab: Lab) -> tuple[str, ...]:
    state = state_of(repository, commit, lab)
    return tuple(state.get(name, ("", ""))[1] for name in lab.needed)


def _line(repository: Path, *options: str) -> Iterator[tuple[str, datetime | None]]:
    """Yield commits and their dates along first parents, newest first; None is no date."""
    log = ("log", "--first-parent", "--format=%H %ct", *options)
    for line in git(*log, folder=repository, env=OFFLINE).splitlines():
        name, _, seconds = line.partition(" ")
        try:
            yield name, datetime.fromtimestamp(int(seconds), UTC)
        except (OverflowError, ValueError, OSError):
            yield name, None


def _before_parent(repository: Path, commit: Commit) -> bool:
    dates = [date for _, date in _line(repository, "-2", commit.hash)]
    return len(dates) == 2 and dates[1] is not None and dates[1] > commit.date


def _is_part(repository: Path, commit: str) -> bool:
    try:
        git("merge-base", "--is-ancestor", commit, TIP, folder=repository, env=OFFLINE)
    except GitError:
        return False
    return True
