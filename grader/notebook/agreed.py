"""What notebook and file last agreed on, so that neither is ever written over unasked.

Of each part (a section of the code file, an answer of PSEUDOCODE.md) a hash is kept, under
``.inferlab/`` of the course repository: a part that has changed since on one side is taken over by
the other, one that has changed on both is the student's to decide.
"""

import hashlib
import json
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any, cast

from grader.files import json_bytes, write_file
from grader.labs.lab import Lab
from grader.labs.standing import FOLDER


class Changed(StrEnum):
    """Which side of a part has changed since both agreed."""

    NEITHER = "neither"
    CELL = "cell"
    FILE = "file"
    BOTH = "both"


class Agreed:
    """The hashes of one lab; a missing or damaged file counts as none."""

    def __init__(self, lab: Lab) -> None:
        self._file = lab.root / FOLDER / "notebook" / f"{lab.name}.json"
        self._known = _read(self._file)

    def changed(self, part: str, cell: str, file: str) -> Changed:
        """Compare a part; one of which nothing is known has changed on both sides."""
        if _hash(cell) == _hash(file):
            return Changed.NEITHER
        known = self._known.get(part, "")
        if _hash(file) == known:
            return Changed.CELL
        return Changed.FILE if _hash(cell) == known else Changed.BOTH

    def keep(self, parts: Mapping[str, str]) -> None:
        """Note that both sides have these texts now."""
        self._known |= {part: _hash(text) for part, text in parts.items()}
        self._file.parent.mkdir(parents=True, exist_ok=True)
        write_file(self._file, json_bytes(self._known))


def _hash(text: str) -> str:
    return hashlib.sha256(text.strip().encode("utf-8", "surrogatepass")).hexdigest()


def _read(file: Path) -> dict[str, str]:
    try:
        data = cast(dict[str, Any], json.loads(file.read_bytes()))
        return {str(key): str(value) for key, value in data.items()}
    except (OSError, ValueError, AttributeError, RecursionError):
        return {}
