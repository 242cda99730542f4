"""Which branches students fetch, and where they hand in: what a published tree says of itself.

``lab publish`` writes the file; a tag ``published/BRANCH/3`` of a publication says the same of its
branch, wherever it is fetched.
"""

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from grader.text import visible_line

FILE = "published.toml"  # of the tree
TAGS = "published/"
ID = "{id}"  # in the name of a branch: the student's
OWN = f"student/{ID}"  # where a course says nothing else
Given = Mapping[str, Mapping[str, str]]  # by lab and file, what tells it as it was given out
_PLAIN = re.compile(r"[\w.@+-]+(?:/[\w.@+-]+)*")


@dataclass(frozen=True, slots=True)
class Earlier:
    """What earlier publications gave out of a lab, where somebody has looked."""

    files: frozenset[tuple[str, str]] = frozenset()  # names, each with what tells the file
    prompts: frozenset[bytes] = frozenset()  # lines of PSEUDOCODE.md


@dataclass(frozen=True, slots=True)
class Published:
    """The branch that the course is on, "" where nobody says it, and that of a student's work."""

    branch: str = ""
    hand_in: str = OWN
    given: Given = field(default_factory=dict[str, Mapping[str, str]])  # what people will read

    def text(self) -> str:
        """Return the file."""
        return (
            "# Written by lab publish, for make submit: the branch of the course, to which none\n"
            "# of your work goes, and the one from which it is collected.\n"
            f"branch = {_quoted(self.branch)}\n"
            f"hand_in = {_quoted(self.hand_in)}\n"
        ) + "".join(_given_text(lab, files) for lab, files in self.given.items())

    def takes(self, branch: str) -> bool:
        """Tell whether work is collected from a branch of this name."""
        pattern = re.escape(self.hand_in).replace(re.escape(ID), ".+")
        return re.fullmatch(pattern, branch) is not None


def published(root: Path) -> Published:
    """Read what a tree says of itself; one that says nothing, or no sense, is as any other."""
    try:
        data = tomllib.loads((root / FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return Published()
    branch, hand_in = data.get("branch"), data.get("hand_in")
    named = hand_in if isinstance(hand_in, str) and is_plain(hand_in.replace(ID, "x")) else OWN
    return Published(branch if isinstance(branch, str) else "", named, _given(data.get("given")))


def _given(data: object) -> Given:
    tables = cast(dict[str, object], data) if isinstance(data, dict) else {}
    return {
        lab: {name: str(digest) for name, digest in cast(dict[str, object], files).items()}
        for lab, files in tables.items()
        if isinstance(files, dict)
    }


def _given_text(lab: str, files: Mapping[str, str]) -> str:
    rows = "".join(f"{_quoted(name)} = {_quoted(digest)}\n" for name, digest in files.items())
    return f"\n[given.{_quoted(lab)}]\n{rows}"


def branches_of(tags: Iterable[str]) -> set[str]:
    """Return the branches of which there are tags of publications, by the tags' short names."""
    parts = (tag.removeprefix(TAGS).rpartition("/") for tag in tags if tag.startswith(TAGS))
    return {branch for branch, _, number in parts if branch and number.isdecimal()}


def is_plain(name: str) -> bool:
    """Tell whether a name, or a student's id, can stand in a command as it is."""
    return _PLAIN.fullmatch(name) is not None and ".." not in name and not name.startswith("-")


def _quoted(name: str) -> str:
    shown = visible_line(name).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{shown}"'
