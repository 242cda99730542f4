"""What changed in a file between two attempts, as rows that a page shows."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from grader.readers import Budget
from grader.text import visible_line

READER = "grader.service.adapters.web.texts.line_changes"
SECONDS = 5.0
MOST_ROWS = 3000
MOST_LINE = 400  # characters
_KINDS = {"+": "added", "-": "removed", "@": "place", " ": "kept"}


@dataclass(frozen=True, slots=True)
class Row:
    """A line of a diff; ``kind`` is "added", "removed", "kept" or "place"."""

    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class Changed:
    """What changed in one file; ``rows`` None: it could not be found in the time there is."""

    name: str
    rows: Sequence[Row] | None
    more: int = 0  # rows that are left out


def changes(before: Mapping[str, bytes], after: Mapping[str, bytes]) -> list[Changed]:
    """Compare the files of two attempts; those that did not change are left out."""
    budget = Budget(SECONDS)
    names = dict.fromkeys((*before, *after))
    pairs = {name: (before.get(name, b""), after.get(name, b"")) for name in names}
    return [_changed(name, *pair, budget) for name, pair in pairs.items() if pair[0] != pair[1]]


def _changed(name: str, old: bytes, new: bytes, budget: Budget) -> Changed:
    pair = [text.decode("utf-8-sig", "replace") for text in (old, new)]
    ended = budget.run(READER, json.dumps(pair).encode())
    if ended.status or ended.over:
        return Changed(name, None)
    lines: list[str] = json.loads(ended.output)
    rows = [Row(_KINDS.get(line[:1], "kept"), _text(line)) for line in lines[:MOST_ROWS]]
    return Changed(name, rows, max(0, len(lines) - MOST_ROWS))


def _text(line: str) -> str:
    if line.startswith("@"):
        return line
    return line[:1] + visible_line(line[1:].replace("\t", "    "), MOST_LINE)
