"""What two answers have in common, line by line, and what neither of them wrote.

Matching is by fingerprints, so renamed variables and other comments hide nothing; each place of an
answer belongs to one passage at most. The cost is bounded by counts, whatever the code is.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from grader.course.likeness.fingerprints import NOISE, covered, fingerprints, is_in
from grader.course.likeness.lexing import Part
from grader.course.likeness.tokens import lines_of
from grader.extras import needs

with needs("course"):
    import numpy as np

MOST_COMPARED = 64 << 10  # characters of an answer's filtered code
FEWEST_OWN = 40  # characters of a passage that are nobody else's
MOST_TRIED = 8  # places of the other answer at which one may go on
MOST_PASSAGES = 300
_DEFINED = re.compile(r"([ \t]*)(?:async\s+def|def|class)\s+(\w{1,80})")


@dataclass(frozen=True, slots=True)
class Passage:
    """Code that both have: its first and last line in each, counted from 1, and how much it is."""

    one: tuple[int, int]
    other: tuple[int, int]
    tokens: int  # characters that count and are not published


@dataclass(frozen=True, slots=True)
class Line:
    """One line of an answer."""

    text: str
    passage: int  # its number, from 1; 0: it is in none
    published: bool  # everyone was given it


@dataclass(frozen=True, slots=True)
class Beside:
    """Two answers beside each other; passages are in the order of the first one."""

    one: Sequence[Line]
    other: Sequence[Line]
    passages: Sequence[Passage]
    cut: bool  # more than can be compared was there


def beside(
    texts: tuple[str, str], parts: tuple[Part, Part], given: Any, given_lines: frozenset[str]
) -> Beside:
    """Compare two answers; ``given`` are fingerprints of what all have, in order."""
    prints = [fingerprints(part.text[:MOST_COMPARED]) for part in parts]
    own = [~is_in(values, given) for values in prints]
    spans = _matched(prints[0], prints[1], own[0])
    passages: list[Passage] = []
    for start, at, length in spans:
        lines = [
            (part.line(place), part.line(place + length + NOISE - 2))
            for part, place in zip(parts, (start, at), strict=True)
        ]
        mine = np.flatnonzero(own[0][start : start + length])
        passages.append(Passage(lines[0], lines[1], covered(mine)))
    shown = [
        _lines(text, part, mine, [(span[side], span[2]) for span in spans], given_lines)
        for side, (text, part, mine) in enumerate(zip(texts, parts, own, strict=True))
    ]
    cut = any(len(part.text) > MOST_COMPARED for part in parts)
    return Beside(shown[0], shown[1], passages, cut or len(spans) == MOST_PASSAGES)


def parts_of(lines: Sequence[Line], passages: Sequence[tuple[int, int]]) -> list[str]:
    """Name the functions and classes that lie in some ranges of lines, in their order."""
    found: dict[str, None] = {}
    around: list[tuple[int, str]] = []
    within = {number for first, last in passages for number in range(first, last + 1)}
    for number, line in enumerate(lines, 1):
        match = _DEFINED.match(line.text)
        if match:
            depth = len(match[1].expandtabs())
            around = [*(each for each in around if each[0] < depth), (depth, match[2])][-8:]
        if number in within and line.passage and around:
            found[".".join(name for _, name in around[-3:])] = None
    return [*found]


def _matched(one: Any, other: Any, own: Any) -> list[tuple[int, int, int]]:
    """Return start in one, start in the other and number of fingerprints of each passage."""
    order = np.argsort(other, kind="stable")
    first = np.searchsorted(other[order], one, side="left")
    last = np.searchsorted(other[order], one, side="right")
    used = np.zeros(len(other), dtype=bool)
    found: list[tuple[int, int, int]] = []
    starts = np.flatnonzero(own & (last > first))
    at = 0
    for start in map(int, starts):
        if start < at or len(found) == MOST_PASSAGES:
            continue
        there = order[first[start] : min(last[start], first[start] + 16 * MOST_TRIED)]
        places = [int(place) for place in there[~used[there]][:MOST_TRIED]]
        spans = [(_run(one, other, used, start, place), -place) for place in places]
        length, place = max(spans, default=(0, 0))
        if covered(np.flatnonzero(own[start : start + length])) < FEWEST_OWN:
            continue
        found.append((start, -place, length))
        # Neighbours overlap a passage by what a fingerprint is long.
        used[-place : -place + length + NOISE - 1] = True
        at = start + length + NOISE - 1
    return found


def _run(one: Any, other: Any, used: Any, start: int, place: int) -> int:
    """Return how many fingerprints from two places on are the same, and still free."""
    length, step = 0, 64
    while True:
        left, right = start + length, place + length
        step = min(2 * step, len(one) - left, len(other) - right)
        if step <= 0:
            return length
        ends = (one[left : left + step] != other[right : right + step]) | used[right : right + step]
        if ends.any():
            return length + int(ends.argmax())
        length += step


def _lines(
    text: str, part: Part, own: Any, spans: Sequence[tuple[int, int]], given: frozenset[str]
) -> list[Line]:
    size = len(part.text)
    mine, owner = np.zeros(size + 1, dtype=bool), np.zeros(size + 1, dtype=np.int32)
    theirs = np.zeros(size + 1, dtype=bool)
    for flags, places in ((mine, np.flatnonzero(own)), (theirs, np.flatnonzero(~own))):
        for shift in range(NOISE):
            flags[places + shift] = True
    for number, (start, length) in enumerate(spans, 1):
        owner[start : start + length + NOISE - 1] = number
    owner[~mine] = 0
    ends = [*part.starts[1:], size]
    found: list[Line] = []
    for line, start, end in zip(lines_of(text), part.starts, ends, strict=True):
        counts = np.bincount(owner[start:end]) if end > start else np.zeros(1, dtype=np.int64)
        number = int(counts[1:].argmax()) + 1 if counts[1:].any() else 0
        is_given = line.strip() in given and line.strip() != ""
        is_given |= end > start and bool((theirs[start:end] & ~mine[start:end]).all())
        found.append(Line(line, number, is_given and not number))
    return _filled(found)


def _filled(lines: list[Line]) -> list[Line]:
    """Let a blank line or a comment inside a passage be of it."""
    before, found = 0, list(lines)
    gap: list[int] = []
    for at, line in enumerate(lines):
        text = line.text.strip()
        if not line.passage and not line.published and (not text or text.startswith("#")):
            gap.append(at)
            continue
        if line.passage and line.passage == before:
            for blank in gap:
                found[blank] = Line(lines[blank].text, before, False)
        before, gap = line.passage, []
    return found
