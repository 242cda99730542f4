"""One student's branch in a repository of our own, from which the lab's files are read.

Nothing is ever checked out: commits, trees and files are looked at as objects. Files above the size
of a submission's are not asked for, what comes has a limit, and so has the time it may take. The
repository is temporary; what was taken from it stays.
"""

import math
import re
import shutil
import tempfile
from collections.abc import Collection, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from grader.course.git import HARMLESS, LIMITS, OTHER_END, git, git_bytes, git_lines
from grader.course.grading.collecting.lookalikes import instead
from grader.course.grading.collecting.objects import TooMuch, check_objects
from grader.errors import GitError, GitLimit
from grader.labs.documents.regular import MAX_BYTES
from grader.limited import Limits, Resource

TIP = "refs/heads/tip"
OTHERS = "refs/others/"
LONGEST_NAME = 255  # of a branch; a file system takes no more
LISTING_BYTES = 256 << 20
MOST_BRANCHES = 20_000  # of a repository that are known, but for those that were asked for
_MOST_OTHERS = 10  # branches that are looked at beside a student's own
# All of it. git asks no host for a depth that serves files alone, as many as it likes: of those
# neither their number nor what is in them has a limit.
_WHOLE = "--depth=2147483647"
_FILES_ALONE = "dumb http transport"
_INDEXER = "invalid index-pack output"
_NO_NAME = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|/\.|\.lock(?:/|$)|^[-./]|[./]$")


class Broken(Exception):
    """Nothing can be taken from a repository; the message goes to the list of problems."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """What the fetching of one branch may take."""

    seconds: float = 120.0
    megabytes: int = 256


@contextmanager
def fetched(remote: str, branch: str, bounds: Bounds) -> Generator[Path]:
    """Fetch a branch into a temporary repository; raises Broken if it cannot be had.

    Where all of its history is too much, its last commit alone is tried.
    """
    with tempfile.TemporaryDirectory(prefix="inferlab-collect-") as name:
        whole, alone = Path(name) / "whole.git", Path(name) / "alone.git"
        problem = _fetch(whole, remote, branch, bounds)
        if problem:
            problem = _fetch(alone, remote, branch, bounds, "--depth=1")
            if problem:
                raise Broken(f"its last commit alone is too much: {problem}")
        yield alone if alone.exists() else whole


def _fetch(folder: Path, remote: str, branch: str, bounds: Bounds, depth: str = _WHOLE) -> str:
    """Fetch, and return what is too much, or an empty string; raises Broken."""
    refs = [f"+refs/heads/{branch}:{TIP}"]
    try:
        _make(folder, remote)
        try:
            _ask(folder, (f"--filter=blob:limit={MAX_BYTES + 1}", depth), refs, bounds)
        except GitError as error:
            if not any(f" {name}: " in error.message for name in HARMLESS):
                raise
            # Until its version 2.45 git forgets beside a filter what a fetch is not refused for.
            shutil.rmtree(folder)
            _make(folder, remote)
            _ask(folder, (depth,), refs, bounds)
        check_objects(folder)
    except TooMuch as much:
        return str(much)
    except GitLimit as limit:
        if limit.resource == Resource.TIME:
            raise Broken(limit.message) from None
        return limit.message
    except GitError as error:
        if OTHER_END in error.message:
            return error.message
        if _INDEXER in error.message:  # whatever ended it: git does not say
            full = any(
                pack.stat().st_size >= 0.9 * (bounds.megabytes << 20) for pack in _packs(folder)
            )
            return f"more than {bounds.megabytes} MiB" if full else error.message
        raise Broken(_reason(error, remote, branch, folder, bounds)) from None
    return ""


def _make(folder: Path, remote: str) -> None:
    """Make a repository that knows where the student's lies."""
    folder.mkdir()
    git("init", "--bare", "--quiet", "--template=", folder=folder)
    git("remote", "add", "--", "student", remote, folder=folder)


def _packs(folder: Path) -> Iterator[Path]:
    return (folder / "objects" / "pack").glob("*")


def _ask(folder: Path, what: Sequence[str], refs: Sequence[str], bounds: Bounds) -> None:
    git_bytes(
        *("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--update-shallow"),
        *(*what, "student", *refs),
        folder=folder,
        limits=_within(bounds),
    )


def _within(bounds: Bounds) -> Limits:
    seconds = math.ceil(bounds.seconds)
    return replace(LIMITS, seconds=bounds.seconds, cpu_seconds=seconds, file=bounds.megabytes << 20)


def _reason(error: GitError, remote: str, branch: str, folder: Path, bounds: Bounds) -> str:
    if _FILES_ALONE in error.message:
        return "its host serves files alone, and does not speak git's own protocol"
    if "find remote ref" not in error.message:
        return error.message
    try:
        others = heads(remote, folder, bounds)
    except GitError:
        others = {}
    return f"there is no branch {branch}{instead(branch, others)}"


def heads(
    remote: str, folder: Path, bounds: Bounds, wanted: Collection[str] = ()
) -> dict[str, str]:
    """Return the branches of a remote and their commits; raises GitError.

    Of what is more than may be known, the ``wanted`` ones are among them. Names that git itself
    would refuse are not.
    """
    limits = replace(_within(bounds), output=LISTING_BYTES)
    found: dict[str, str] = {}
    for line in git_lines("ls-remote", "--heads", "--", remote, folder=folder, limits=limits):
        commit, _, ref = line.decode("utf-8", "surrogateescape").partition("\t")
        name = ref.removeprefix("refs/heads/")
        if (len(found) < MOST_BRANCHES or name in wanted) and _is_name(name):
            found[name] = commit
    return found


def _is_name(name: str) -> bool:
    return 0 < len(name) <= LONGEST_NAME and _NO_NAME.search(name) is None


def fetch_tips(folder: Path, branches: Sequence[str], bounds: Bounds) -> list[str]:
    """Fetch the last commits of other branches, without files; return those that came.

    A host that cannot leave files out may send more than may come: then none does.
    """
    asked = list(branches)[:_MOST_OTHERS]
    if not asked:
        return []
    refs = [f"+refs/heads/{branch}:{OTHERS}{branch}" for branch in asked]
    try:
        _ask(folder, ("--filter=blob:none", "--depth=1"), refs, bounds)
        check_objects(folder)
    except (GitError, TooMuch):
        return []
    return asked
