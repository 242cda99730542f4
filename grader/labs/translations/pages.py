"""Whether a translated page is in step with its English, section by section.

Code, formulas, figures and links are the same in both. Their order in a section may differ, since
sentences do; that of blocks of code may not.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from grader.labs.translations.sections import Section, fences, marked, sections

TOLD = 5  # of what is missing, or too much
STALE = "stale: the English has changed since it was translated"
UNMARKED = "names no hash of the English that it translates"
_CODE = re.compile(r"(`+)(.+?)\1(?!`)")
_FORMULA = re.compile(r"\$\$(.+?)\$\$|\$([^$]+?)\$")
_TARGET = re.compile(r"\]\(\s*([^)\s]+)[^)]*\)")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_COMMENT = re.compile(r"(?:^|\s)(?:#|//)\s.*$")
_NOTICE = "> **此节译文可能已过时**：英文原文在翻译之后有改动，以英文为准。"
_PAGE_NOTICE = "> **本页译文可能已过时**：各节与英文原文不再一一对应，以英文为准。"


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with a translation; ``section`` is "" where it is about the whole file."""

    section: str
    says: str

    def __str__(self) -> str:
        return f"{self.section}: {self.says}" if self.section else self.says

    @property
    def is_stale(self) -> bool:
        """Whether its English has changed, and nothing else is known to be wrong."""
        return self.says in (STALE, UNMARKED)


def problems(english: str, chinese: str) -> list[Problem]:
    """Return what is stale, missing or different in a translated page, in the page's order."""
    ours, theirs = sections(english), sections(chinese)
    if torn := _torn(ours, theirs):
        return [torn]
    return [
        Problem(there.title, says)
        for here, there in zip(ours, theirs, strict=True)
        for says in _of_section(here, there)
    ]


def stamped(english: str, chinese: str) -> str:
    """Return the page with the hash of what each section translates.

    Raises ``ValueError`` if the two do not have the same sections.
    """
    ours, theirs = sections(english), sections(chinese)
    if torn := _torn(ours, theirs):
        raise ValueError(torn.says)
    pairs = zip(ours, theirs, strict=True)
    return "\n".join(line for here, there in pairs for line in marked(there, here.digest))


def told(english: str, chinese: str) -> str:
    """Return the page for readers: without hashes, and a stale section says that it is stale."""
    ours, theirs = sections(english), sections(chinese)
    if _torn(ours, theirs):
        return "\n".join([_PAGE_NOTICE, "", *(line for part in theirs for line in part.lines())])
    lines: list[str] = []
    for here, there in zip(ours, theirs, strict=True):
        is_stale = not there.is_empty and there.mark != here.digest
        lines += there.lines(["", _NOTICE, ""] if is_stale else [])
    return "\n".join(lines)


def _torn(ours: tuple[Section, ...], theirs: tuple[Section, ...]) -> Problem | None:
    """Name the first section that is missing, too much, or of another level."""
    for here, there in zip(ours, theirs, strict=False):
        if here.level != there.level:
            says = f"is a heading of level {there.level}, and {here.title} one of {here.level}"
            return Problem("", f"{there.title} {says}")
        if here.is_empty != there.is_empty:
            which = "not translated" if there.is_empty else "not in the English"
            return Problem("", f"{here.title} is {which}")
    if len(theirs) < len(ours):
        return Problem("", f"missing: {ours[len(theirs)].title}")
    if len(theirs) > len(ours):
        return Problem("", f"not in the English: {theirs[len(ours)].title}")
    return None


def _of_section(here: Section, there: Section) -> Iterator[str]:
    if here.is_empty:
        return
    if not there.mark:
        yield UNMARKED
    elif there.mark != here.digest:
        yield STALE
    if _blocks(here) != _blocks(there):
        yield "its fenced code is not that of the English"
    ours, theirs = _fixed(here), _fixed(there)
    for what in ours:
        if difference := _difference(ours[what], theirs[what]):
            yield f"other {what} than in the English: {difference}"


def _blocks(section: Section) -> list[str]:
    """Return the lines of fenced code, without comments: those may be translated."""
    lines = zip(section.body, fences(section.body), strict=True)
    return [_COMMENT.sub("", line).rstrip() for line, fenced in lines if fenced]


def _fixed(section: Section) -> dict[str, list[str]]:
    """Return what no translation changes, by what it is called."""
    lines = list(section.lines())
    prose = [line for line, fenced in zip(lines, fences(lines), strict=True) if not fenced]
    text = " ".join(line.strip() for line in prose)
    code = [_tight(found[2]) for found in _CODE.finditer(text)]
    text = _CODE.sub(" ", text)
    formulas = [_tight(found[1] or found[2]) for found in _FORMULA.finditer(text)]
    text = _FORMULA.sub(" ", text)
    links = [found[1].replace(".zh.md", ".md") for found in _TARGET.finditer(text)]
    numbers = _NUMBER.findall(_TARGET.sub("]", text))
    rows = [
        str(_FORMULA.sub("", _CODE.sub("", line)).count("|") - 1)
        for line in prose
        if line.startswith("|")
    ]
    return {
        "inline code": code,
        "formulas": formulas,
        "links": links,
        "numbers": numbers,
        "columns of tables": rows,
    }


def _tight(text: str) -> str:
    """Leave out white space: lines break elsewhere in a translation."""
    return re.sub(r"\s+", "", text)


def _difference(ours: Iterable[str], theirs: Iterable[str]) -> str:
    lacks, more = Counter(ours), Counter(theirs)
    parts = [
        f"{word} {', '.join([*found.elements()][:TOLD])}"
        for word, found in (("lacks", lacks - more), ("has", more - lacks))
        if found
    ]
    return "; ".join(parts)
