"""What came from a student's repository: objects by kind and size, asked before any is read.

git answers from the heads of the objects. A tree of a million entries takes a few kilobytes of a
pack, and so do a thousand commits with a megabyte of message each; read, they are gigabytes.
"""

from dataclasses import replace
from pathlib import Path

from grader.course.git import LIMITS, OFFLINE, git_lines

MOST_OBJECTS = 1_000_000
LARGEST_COMMIT = 1 << 20  # bytes; a tag is one too
LARGEST_TREE = 16 << 20  # about 400,000 entries
ALL_COMMITS = 128 << 20  # git holds those that it walks over
SHOWN = 12  # characters of an object's hash
LISTING = replace(LIMITS, output=128 << 20)
_QUESTION = "--batch-check=%(objecttype) %(objectsize) %(objectname)"


class TooMuch(Exception):
    """A history holds more than may be read; the message says what."""


def check_objects(repository: Path) -> None:
    """Raise ``TooMuch`` with the first thing that is too large, and ``GitError``."""
    line = ("cat-file", "--batch-all-objects", "--unordered", _QUESTION)
    commits = 0
    for number, row in enumerate(git_lines(*line, folder=repository, limits=LISTING, env=OFFLINE)):
        if number >= MOST_OBJECTS:
            raise TooMuch(f"its history has more than {MOST_OBJECTS:,} objects")
        kind, size, name = row.decode().split()
        if kind == "blob":
            continue
        largest = LARGEST_TREE if kind == "tree" else LARGEST_COMMIT
        if int(size) > largest:
            what = "folder" if kind == "tree" else kind
            told = f"{int(size) >> 20} MiB ({kind} {name[:SHOWN]})"
            raise TooMuch(f"a {what} of its history has {told}: more than {largest >> 20} MiB")
        commits += int(size) * (kind == "commit")
        if commits > ALL_COMMITS:
            raise TooMuch(f"the commits of its history have more than {ALL_COMMITS >> 20} MiB")
