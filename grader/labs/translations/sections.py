"""A Markdown file as sections: a heading with what follows it, up to the next one.

What stands before the first heading is a section too. A translated section names, in a comment
below its heading, the hash of the English that it translates.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

DIGITS = 12  # of the hash
_FENCE = re.compile(r"\s*(`{3,}|~{3,})")
_HEADING = re.compile(r"(#{1,6}) +(.*)")
_MARK = re.compile(r"<!-- en: (\S+) -->\s*")


@dataclass(frozen=True, slots=True)
class Section:
    """``level`` 0 stands before the first heading; ``mark`` is the hash that it names, or ""."""

    level: int
    heading: str  # its line as it is, "" for level 0
    body: tuple[str, ...]  # the lines below, without the mark
    mark: str = ""

    @property
    def title(self) -> str:
        """What people call it."""
        return f"`{self.heading.strip()}`" if self.heading else "the text before the first heading"

    @property
    def digest(self) -> str:
        """The hash that a translation of this section names."""
        lines = [self.heading, *self.body] if self.level else self.body
        text = "\n".join(line.rstrip() for line in lines).strip("\n")
        return hashlib.sha256(text.encode()).hexdigest()[:DIGITS]

    @property
    def is_empty(self) -> bool:
        """Whether it is nothing at all, as before a heading on the first line."""
        return not self.level and not any(line.strip() for line in self.body)

    def lines(self, below: Iterable[str] = ()) -> Iterator[str]:
        """Write it, with some lines below its heading."""
        yield from [self.heading] if self.level else []
        yield from below
        yield from self.body


def fences(lines: Iterable[str]) -> Iterator[bool]:
    """Tell of each line whether it is fenced code, the fences included."""
    fence = ""
    for line in lines:
        found = _FENCE.match(line)
        if found and not fence:
            fence = found[1]
            yield True
        elif found and line.strip().startswith(fence) and {*line.strip()} == {fence[0]}:
            fence = ""
            yield True
        else:
            yield bool(fence)


def sections(text: str) -> tuple[Section, ...]:
    """Cut a Markdown text at its headings."""
    lines = text.split("\n")
    cut: list[list[str]] = [[]]
    for line, fenced in zip(lines, fences(lines), strict=True):
        if not fenced and _HEADING.match(line):
            cut.append([])
        cut[-1].append(line)
    return tuple(_section(part, at > 0) for at, part in enumerate(cut))


def marked(section: Section, mark: str) -> Iterator[str]:
    """Write a section with the hash of what it translates, line by line."""
    return section.lines([] if section.is_empty else [f"<!-- en: {mark} -->"])


def _section(lines: list[str], headed: bool) -> Section:
    heading, *below = lines if headed else ["", *lines]
    found = _MARK.fullmatch(below[0]) if below else None
    level = len(heading) - len(heading.lstrip("#")) if headed else 0
    return Section(level, heading, tuple(below[found is not None :]), found[1] if found else "")
