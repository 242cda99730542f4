"""One student's branch in a repository of our own, from which the lab's files are read.

Nothing is ever checked out: commits, trees and files are looked at as objects. Files above the size
of a submission's are not asked for, what comes has a limit, and so has the time it may take. The
repository is temporary; what was taken from it stays.
"""

import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from grader.course.git import git, git_bytes
from grader.errors import GitError
from grader.lab import Lab
from grader.submission import MAX_BYTES, PSEUDOCODE_NAME, shown

TIP = "refs/heads/tip"
LFS = b"version https://git-lfs.github.com/spec/"
OFFLINE = {"GIT_ALLOW_PROTOCOL": "none"}  # else git would fetch an object that it misses
# One pack, so that its size is the size of all, and little memory for what is large in it.
ONE_PACK = {
    "GIT_CONFIG_COUNT": "2",
    "GIT_CONFIG_KEY_0": "fetch.unpackLimit",
    "GIT_CONFIG_VALUE_0": "1",
    "GIT_CONFIG_KEY_1": "core.bigFileThreshold",
    "GIT_CONFIG_VALUE_1": "16m",
}
_FILE_MODES = ("100644", "100755", "100664")
_TREE_MODE = "040000"


class Broken(Exception):
    """Nothing can be taken from a repository; the message goes to the list of problems."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """What the fetching of one branch may take."""

    seconds: float = 120.0
    megabytes: int = 256


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit and its committer's date, which is what the student's clock said."""

    hash: str
    date: datetime


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
                raise Broken(_reason(error, branch)) from None
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


def _reason(error: GitError, branch: str) -> str:
    if "find remote ref" in error.message:
        return f"there is no branch {branch}"
    return error.message


def heads(remote: str, folder: Path, seconds: float) -> dict[str, str]:
    """Return the branches of a remote and their commits; raises GitError."""
    lines = git("ls-remote", "--heads", "--", remote, folder=folder, timeout=seconds).splitlines()
    pairs = (line.split("\t", 1) for line in lines)
    return {name.removeprefix("refs/heads/"): commit for commit, name in pairs}


def newest(repository: Path, until: datetime | None) -> Commit | None:
    """Return the branch's newest commit that is not dated after ``until``.

    Only commits that the branch itself has pointed to are looked at: first parents.
    """
    limit = () if until is None else (f"--min-age={int(until.timestamp())}",)
    line = ("log", "-1", "--first-parent", "--format=%H %ct", *limit, TIP)
    found = git(*line, folder=repository, env=OFFLINE)
    if not found:
        return None
    commit, _, seconds = found.partition(" ")  # no seconds: the date is no date
    return Commit(commit, _moment(seconds))


def doubts(repository: Path, commit: Commit, now: datetime, before: str) -> str:
    """Say why a commit's date or history is to be looked at by a person, or return ""."""
    if commit.date > now:
        return "its date lies in the future"
    dates = git(
        *("log", "-2", "--first-parent", "--format=%ct", commit.hash),
        folder=repository,
        env=OFFLINE,
    ).split()
    if len(dates) == 2 and _moment(dates[1]) > commit.date:
        return "its date lies before that of its parent: it may have been set by hand"
    if before and before != commit.hash and not _follows(repository, commit.hash, before):
        return f"the branch was rewritten: {before[:12]}, collected before, is no part of it"
    return ""


def _moment(seconds: str) -> datetime:
    try:
        return datetime.fromtimestamp(int(seconds), UTC)
    except (OverflowError, ValueError, OSError):
        raise Broken("its commit has a date that no clock shows") from None


def _follows(repository: Path, commit: str, before: str) -> bool:
    try:
        git("merge-base", "--is-ancestor", before, commit, folder=repository, env=OFFLINE)
    except GitError:
        return False
    return True


def take(repository: Path, commit: str, lab: Lab) -> tuple[dict[str, bytes], str]:
    """Return the lab's files in a commit by name, and a remark; raises Broken without the code."""
    place = _place(repository, commit, lab)
    entries = _entries(repository, commit, place, (lab.code_name, PSEUDOCODE_NAME))
    code, told = _file(repository, place + lab.code_name, entries.get(lab.code_name))
    if code is None:
        raise Broken(told)
    remark = f"{lab.code_name} is a pointer of Git LFS" if code.startswith(LFS) else ""
    text, told = _file(repository, place + PSEUDOCODE_NAME, entries.get(PSEUDOCODE_NAME))
    files = {lab.code_name: code}
    if text is None:
        left_out = f"{told}: left out" if PSEUDOCODE_NAME in entries else ""
        return files, "; ".join(filter(None, (remark, left_out)))
    return files | {PSEUDOCODE_NAME: text}, remark


def _place(repository: Path, commit: str, lab: Lab) -> str:
    """Return the folder of the lab with a slash; "" if the files lie at the top."""
    for place in (lab.name, f"labs/{lab.name}"):
        entry = _entries(repository, commit, "", (place,)).get(place)
        if entry is not None:
            if entry[0] != _TREE_MODE:
                raise Broken(f"{place} is not a folder")
            return f"{place}/"
    return ""


def _entries(
    repository: Path, commit: str, place: str, names: tuple[str, ...]
) -> dict[str, tuple[str, str]]:
    """Return mode and object of those names under ``place`` that the commit has."""
    paths = [place + name for name in names]
    listing = git("ls-tree", "-z", commit, "--", *paths, folder=repository, env=OFFLINE)
    found: dict[str, tuple[str, str]] = {}
    for line in filter(None, listing.split("\0")):
        meta, _, path = line.partition("\t")
        mode, _, blob = meta.split()
        found[path.removeprefix(place)] = (mode, blob)
    return found


def _file(repository: Path, path: str, entry: tuple[str, str] | None) -> tuple[bytes | None, str]:
    """Return the bytes of a file, or None and why not."""
    name = shown(path)
    if entry is None:
        return None, f"there is no {name}"
    mode, blob = entry
    if mode not in _FILE_MODES:
        return None, f"{name} is not a regular file"
    try:
        size = int(git("cat-file", "-s", blob, folder=repository, env=OFFLINE))
    except GitError:
        size = MAX_BYTES + 1  # it was left out of what was fetched
    if size > MAX_BYTES:
        return None, f"{name} is larger than {MAX_BYTES >> 10} KiB"
    return git_bytes("cat-file", "blob", blob, folder=repository, env=OFFLINE), ""
