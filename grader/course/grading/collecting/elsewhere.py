"""Where else in a commit files of a lab's names lie: work at a wrong place, or the stub alone.

Only for a person to read, and looked for only where nothing lies at the usual places.
"""

import os
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from pathlib import Path

from grader.course.git import LIMITS, OFFLINE, git_bytes
from grader.errors import GitError
from grader.labs.documents.notebook import notebook_name
from grader.labs.documents.regular import shown
from grader.labs.lab import Lab

LOOKING = replace(LIMITS, seconds=20.0, cpu_seconds=10)
MOST_LOOKED_AT = 10  # files that are read, to tell work from the stub
_MOST_NAMED = 3
_FILE = re.compile(rb"(?<![^\0])(100\d+) blob ([0-9a-f]+)\t([^\0]+)\0")  # and no link

Entry = tuple[str, str]  # mode and object
IsStub = Callable[[str, Entry], bool]


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """Paths as they are shown, in the order of the tree."""

    work: tuple[str, ...] = ()
    stubs: tuple[str, ...] = ()  # as they were given out


def work_names(lab: Lab) -> tuple[str, ...]:
    """Return the names of what is work by itself: answers to prompts alone are none."""
    return lab.files or (lab.code_name, notebook_name(lab))


def elsewhere(
    repository: Path, commit: str, lab: Lab, known: Collection[str], is_stub: IsStub
) -> Elsewhere:
    """Find files of the lab's names, in any case, but for the paths that are ``known``.

    Nothing is found where there are too many files to look at.
    """
    try:
        listing = git_bytes(
            *("ls-tree", "-r", "-z", commit), folder=repository, limits=LOOKING, env=OFFLINE
        )
    except GitError:
        return Elsewhere()
    names = b"|".join(re.escape(name.encode()) for name in work_names(lab))
    wanted = re.compile(rb"(?:[^\0]*/)?(?:" + names + rb")", re.IGNORECASE)
    work: list[str] = []
    stubs: list[str] = []
    # One after the other: a list of all would take many times what the listing does.
    for entry in _FILE.finditer(listing):
        path = os.fsdecode(entry[3])
        if not wanted.fullmatch(entry[3]) or path in known or _is_given(lab, path):
            continue
        is_read = len(work) + len(stubs) < MOST_LOOKED_AT
        same = is_read and is_stub(path, (entry[1].decode(), entry[2].decode()))
        (stubs if same else work).append(shown(path))
    return Elsewhere(tuple(work), tuple(stubs))


def named(paths: tuple[str, ...]) -> str:
    """Name some of the paths, and say how many more there are."""
    more = len(paths) - _MOST_NAMED
    told = ", ".join(paths[:_MOST_NAMED])
    return f"{told} and in {more} more place{'' if more == 1 else 's'}" if more > 0 else told


def _is_given(lab: Lab, path: str) -> bool:
    """True for what published trees have at that place: ``labs/plots/llama.py`` is no answer."""
    place = lab.folder.parent.parent / path
    try:
        return place.parent != lab.folder and place.is_file()
    except (OSError, ValueError):  # too long a name for this machine
        return False
