"""Commits and their files, read out of a repository without checking anything out."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.course.git import OWN, git, git_bytes
from grader.errors import UsageError

FILES = ("100644", "100755")


@dataclass(frozen=True, slots=True)
class Object:
    """One object of git: a blob, a commit, a tag or a tree."""

    id: str
    kind: str
    content: bytes


def resolve(folder: Path, name: str) -> str:
    """Return the hash of a commit."""
    return git("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}", folder=folder)


def tree_of(folder: Path, commit: str) -> dict[str, str]:
    """Return the blobs of a commit by path; links and submodules are not among them."""
    found: dict[str, str] = {}
    listing = git("ls-tree", "-r", "-z", "--full-tree", commit, folder=folder, limits=OWN)
    for entry in listing.split("\0"):
        if entry:
            head, _, path = entry.partition("\t")
            mode, _, blob = head.split()
            if mode in FILES:
                found[path] = blob
    return found


def read_objects(folder: Path, ids: Sequence[str]) -> Iterator[Object]:
    """Read objects by their hashes, in order; one that is missing raises ``UsageError``."""
    if not ids:
        return
    asked = "\n".join(ids).encode() + b"\n"
    out = git_bytes("cat-file", "--batch", folder=folder, limits=OWN, stdin=asked)
    at = 0
    while at < len(out):
        end = out.index(b"\n", at)
        head = out[at:end].decode().split()
        if len(head) != 3:
            raise UsageError(f"the object {head[0]} is missing", "is the repository a partial one?")
        size = int(head[2])
        yield Object(head[0], head[1], out[end + 1 : end + 1 + size])
        at = end + 2 + size


def files_at(folder: Path, commit: str) -> dict[str, bytes]:
    """Read all files of a commit."""
    tree = tree_of(folder, commit)
    blobs = {item.id: item.content for item in read_objects(folder, sorted({*tree.values()}))}
    return {path: blobs[blob] for path, blob in tree.items()}


def reachable(folder: Path, tips: Sequence[str]) -> list[str]:
    """Return the hashes of all objects that can be reached from some commits or tags."""
    out = git("rev-list", "--objects", "--no-object-names", *tips, folder=folder, limits=OWN)
    return out.split()
