"""Where the lines of a code file stand in the cells of a notebook, so that messages say that.

A message of the judge's counts the lines of the file that it was given; who wrote cells has never
seen that file.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from grader.labs.documents.sections import sections
from grader.labs.lab import Lab
from grader.labs.results import Report, TestResult

BELOW_THE_MAGIC = 2  # the line of a cell that stands below %%task
PSEUDOCODE_SUITE = "pseudocode"  # its lines are those of another file
# Not what an exception of the submission says, nor what is told of a cell already.
_THEIRS = re.compile(r"\s*\w*(?:Error|Exception|Exit|Interrupt|Warning)\b")
_LINE = re.compile(r"(?<!notebook: )\bline (\d+)\b")


@dataclass(frozen=True, slots=True)
class Place:
    """Lines of the file, from 1, that stand in one cell; ``inside`` is where the first does."""

    cell: str  # its number, or its task
    first: int
    last: int
    inside: int


def places_of(lab: Lab, code: str, cells: Mapping[str, tuple[str, int]]) -> tuple[Place, ...]:
    """Return where the sections of a file stand, by what each cell is called and its first line.

    That is the first line of code in it, from 1; sections without a cell have no place.
    """
    lines = code.split("\n")
    found: list[Place] = []
    for section in sections(lab, code):
        written = [at for at in range(section.start, section.stop) if lines[at].strip()]
        if section.task in cells and written:
            cell, inside = cells[section.task]
            found.append(Place(cell, written[0] + 1, written[-1] + 1, inside))
    return tuple(found)


def first_line(source: str) -> int:
    """Return the line, from 1, on which the code of a text begins."""
    return next((at for at, line in enumerate(source.split("\n"), 1) if line.strip()), 1)


def in_cells(message: str, places: Iterable[Place]) -> str:
    """Return a message in which lines of the file are lines of cells."""
    known = tuple(places)
    lines = message.split("\n")
    return "\n".join(
        line if _THEIRS.match(line) else _LINE.sub(_finding(known), line) for line in lines
    )


def _finding(places: tuple[Place, ...]) -> Callable[[re.Match[str]], str]:
    def said(match: re.Match[str]) -> str:
        line = int(match[1])
        place = next((item for item in places if item.first <= line <= item.last), None)
        if place is None:
            return match[0]
        return f"cell {place.cell}, line {line - place.first + place.inside}"

    return said


def placed(result: TestResult, places: tuple[Place, ...]) -> TestResult:
    """Return a result whose message counts the lines of cells."""
    if not places or result.suite == PSEUDOCODE_SUITE:
        return result
    return replace(result, message=in_cells(result.message, places))


def placed_report(report: Report, places: tuple[Place, ...]) -> Report:
    """Return a report whose messages count the lines of cells."""
    return replace(report, tests=tuple(placed(test, places) for test in report.tests))
