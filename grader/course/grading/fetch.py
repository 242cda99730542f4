"""One student's branch in a repository of our own, from which the lab's files are read.

Nothing is ever checked out: commits, trees and files are looked at as objects. Files above the size
of a submission's are not asked for, what comes has a limit, and so has the time it may take. The
repository is temporary; what was taken from it stays.
"""

import tempfile
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from grader.course.git import git, git_bytes
from grader.errors import GitError
from grader.labs.submission import MAX_BYTES

TIP = "refs/heads/tip"
OTHERS = "refs/others/"
OFFLINE = {"GIT_ALLOW_PROTOCOL": "none"}  # else git would fetch an object that it misses
# One pack, so that its size is the size of all, and little memory for what is large in it.
ONE_PACK = {
    "GIT_CONFIG_COUNT": "2",
    "GIT_CONFIG_KEY_0": "fetch.unpackLimit",
    "GIT_CONFIG_VALUE_0": "1",
    "GIT_CONFIG_KEY_1": "core.bigFileThreshold",
    "GIT_CONFIG_VALUE_1": "16m",
}
MOST_NAMED = 5
_MOST_OTHERS = 10  # branches that are looked at beside a student's own


class Broken(Exception):
    """Nothing can be taken from a repository; the message goes to the list of problems."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """What the fetching of one branch may take."""

    seconds: float = 120.0
    megabytes: int = 256


@contextmanager
def fetched(remote: str, branch: str, bounds: Bounds) -> Generator[Path, None, None]:
    """Fetch a branch into a temporary repository; raises Broken if it cannot be had."""
    with tempfile.TemporaryDirectory(prefix="inferlab-collect-") as name:
        for depth in ((), ("--depth=1",)):
            folder = Path(name) / f"{len(depth)}.git"
            try:
                if _fetch(folder, remote, branch, bounds, depth):
                    yield folder
                    return
            except GitError as error:
                raise Broken(_reason(error, remote, branch, folder, bounds)) from None
        raise Broken(f"the last commit alone is larger than {bounds.megabytes} MiB")


def _fetch(folder: Path, remote: str, branch: str, bounds: Bounds, depth: tuple[str, ...]) -> bool:
    """Fetch, and return False if it is more than may come."""
    limit = bounds.megabytes << 20
    folder.mkdir()
    git("init", "--bare", "--quiet", "--template=", folder=folder)
    git("remote", "add", "--", "student", remote, folder=folder)
    try:
        git_bytes(
            *("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--update-shallow"),
            *(f"--filter=blob:limit={MAX_BYTES + 1}", *depth),
            *("student", f"+refs/heads/{branch}:{TIP}"),
            folder=folder,
            timeout=bounds.seconds,
            env=ONE_PACK,
            file_limit=limit,
        )
    except GitError:
        packs = (folder / "objects" / "pack").glob("*")
        if any(pack.stat().st_size >= 0.9 * limit for pack in packs):
            return False
        raise
    return True


def _reason(error: GitError, remote: str, branch: str, folder: Path, bounds: Bounds) -> str:
    if "find remote ref" not in error.message:
        return error.message
    try:
        others = sorted(heads(remote, folder, bounds.seconds))
    except GitError:
        others = []
    return f"there is no branch {branch}{named(others)}"


def named(branches: Sequence[str]) -> str:
    """Name the branches that there are instead, to follow "there is no branch …"."""
    if not branches:
        return ""
    more = f" and {len(branches) - MOST_NAMED} more" if len(branches) > MOST_NAMED else ""
    return f"; there is {', '.join(branches[:MOST_NAMED])}{more}"


def heads(remote: str, folder: Path, seconds: float) -> dict[str, str]:
    """Return the branches of a remote and their commits; raises GitError."""
    lines = git("ls-remote", "--heads", "--", remote, folder=folder, timeout=seconds).splitlines()
    pairs = (line.split("\t", 1) for line in lines)
    return {name.removeprefix("refs/heads/"): commit for commit, name in pairs}


def fetch_tips(folder: Path, branches: Sequence[str], bounds: Bounds) -> list[str]:
    """Fetch the last commits of other branches, without files; return those that came.

    A host that cannot leave files out may send more than may come: then none does.
    """
    asked = list(branches)[:_MOST_OTHERS]
    if not asked:
        return []
    try:
        git_bytes(
            *("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--update-shallow"),
            *("--filter=blob:none", "--depth=1", "student"),
            *(f"+refs/heads/{branch}:{OTHERS}{branch}" for branch in asked),
            folder=folder,
            timeout=bounds.seconds,
            env=ONE_PACK,
            file_limit=bounds.megabytes << 20,
        )
    except GitError:
        return []
    return asked
