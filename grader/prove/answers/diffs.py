"""A diff without numbers: where its places stand in a text, and all changes made at once.

A place is found by its lines that go and stay; they occur once. What could be meant in two ways,
or not at all, is a ``LabError`` that names the diff's line.
"""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NoReturn

from grader.errors import LabError


@dataclass(frozen=True, slots=True)
class Change:
    """Lines of a text, from ``start`` up to ``end``, that give way; ``at``: whose doing it is."""

    start: int
    end: int
    lines: Sequence[str]
    at: int


@dataclass(frozen=True, slots=True)
class Place:
    """One place of a diff: lines with their marks, the first of them on line ``at``."""

    at: int
    lines: list[tuple[str, str]]

    def change(self, text: Sequence[str], start: int, end: int, name: str) -> Change:
        """Find the place between two lines of a text, called ``name``."""
        old = [line for mark, line in self.lines if mark != "+"]
        new = [line for mark, line in self.lines if mark != "-"]
        if not old:
            fail(self.at, "has no `- ` and no context: nothing tells its place")
        if old == new:
            fail(self.at, "changes nothing")
        size = len(old)
        found = [i for i in range(start, end - size + 1) if text[i : i + size] == old]
        if len(found) > 1:
            fail(self.at, f"stands {len(found)} times in {name}: more context would tell which")
        if not found:
            known = {"", *text[start:end]}
            marked = enumerate(self.lines, self.at)
            unknown = (at for at, (mark, line) in marked if mark != "+" and line not in known)
            fail(next(unknown, self.at), f"is not found in {name}")
        return Change(found[0], found[0] + size, new, self.at)


def places(diff: str, first: int) -> Iterator[Place]:
    """Split a diff at its ``...``; ``first`` is the line on which its string begins."""
    place = Place(first + 1, [])
    # The string begins and ends with the line breaks beside its quotes.
    for number, line in enumerate(diff.removesuffix("\n").split("\n")[1:], first + 1):
        if line == "...":
            yield place
            place = Place(number + 1, [])
        elif not line or line[:2] in ("  ", "+ ", "- ", "+", "-"):
            place.lines.append((line[:1] or " ", line[2:]))
        else:
            fail(number, "begins with neither `- `, `+ ` nor two blanks")
    yield place


def apply(text: Sequence[str], changes: Sequence[Change], *, is_python: bool = True) -> str:
    """Make all changes at once, and hold that Python comes out where it should."""
    ordered = sorted(changes, key=lambda change: (change.start, change.end))
    for one, other in pairwise(ordered):
        if other.start < one.end:
            low, high = sorted((one.at, other.at))
            fail(high, f"overlaps with what line {low} changes")
    lines: list[str] = []
    origins = [(0, 1)]  # a line of the result, and that of the diff behind it
    done = 0
    for change in ordered:
        lines += text[done : change.start]
        origins.append((len(lines) + 1, change.at))
        lines += change.lines
        done = change.end
    result = "\n".join([*lines, *text[done:]]) + "\n"
    try:
        if is_python:
            ast.parse(result)
    except SyntaxError as error:
        at = [origin for line, origin in origins if line <= (error.lineno or 0)]
        fail(at[-1] if at else 1, f"gives no Python: {error.msg}")
    return result


def fail(line: int, problem: str) -> NoReturn:
    """Say what is wrong with a line of a diff."""
    raise LabError(f"line {line}: {problem}")
