"""The races of a submission for who asks how fast it is: steps that are reached, and no points."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from grader.labs.results import Report, Verdict
from grader.report.facts.measured import SpeedCase, speed_cases
from grader.report.facts.speed import (
    HEAD,
    RATIO_MEANS,
    SHORT_HEAD,
    gpu_line,
    row,
    short_row,
    speed_notes,
    suspicions,
)
from grader.report.markup.web import escaped, table
from grader.text import visible_line

STEPS = "steps to reach"
SHOWN = (*SHORT_HEAD[:4], STEPS)


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why a race has no time: the test that says so, and what it says."""

    test: str
    message: str


def troubles(report: Report) -> tuple[Trouble, ...]:
    """Return what kept races from being timed; a step that was missed, and what waits, is none."""
    timed = [f"{case.function} at {case.case} is " for case in speed_cases(report)]
    found: dict[str, Trouble] = {}
    for test in report.tests:
        if test.verdict in (Verdict.PASSED, Verdict.SKIPPED) or test.suite in (
            "rules",
            "pseudocode",
        ):
            continue
        if not any(test.message.startswith(start) for start in timed):
            found.setdefault(test.message, Trouble(test.id, test.message))
    return tuple(found.values())


def steps(case: SpeedCase) -> str:
    """Say which ratios of its ladder a case reaches."""
    return ", ".join(f"{ratio} {'yes' if done else 'no'}" for ratio, done in case.tiers) or "-"


def chosen(report: Report, functions: Sequence[str]) -> tuple[SpeedCase, ...]:
    """Return the cases of some functions; of all, where none is named."""
    cases = speed_cases(report)
    return tuple(case for case in cases if not functions or case.function in functions)


def render_races(report: Report, cases: Sequence[SpeedCase]) -> Group:
    """Return the table for a terminal, then the GPU, remarks and what was not timed."""
    shown = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False)
    for title in SHOWN:
        shown.add_column(title, justify="left" if title in ("case", STEPS) else "right")
    for case in cases:
        cells = [*short_row(case)[:4], steps(case)]
        shown.add_row(*(Text(visible_line(cell)) for cell in cells))
    parts: list[RenderableType] = [shown] if cases else []
    return Group(*parts, *(Padding(Text(line), (1, 0, 0, 0)) for line in _below(report, cases)))


def _below(report: Report, cases: Sequence[SpeedCase]) -> Iterator[str]:
    if line := gpu_line(report):
        yield visible_line(line)
    yield from (visible_line(f"note: {note}", 1000) for note in speed_notes(report))
    yield from (visible_line(f"warning: {notice.text}", 1000) for notice in suspicions(report))
    for trouble in troubles(report):
        yield visible_line(f"not timed: {trouble.test}: {trouble.message}", 1000)
    if cases:
        yield RATIO_MEANS


def races_table(cases: Sequence[SpeedCase]) -> str:
    """Return the table as HTML, with all that is known of each case."""
    head = (*HEAD[:2], STEPS, *HEAD[2:])
    rows = ((case, row(case)) for case in cases)
    return table(head, ((*cells[:2], steps(case), *cells[2:]) for case, cells in rows))


def races_below(report: Report, cases: Sequence[SpeedCase]) -> list[str]:
    """Return the lines below the table as HTML."""
    return [f"<p>{escaped(line)}</p>" for line in _below(report, cases)]
