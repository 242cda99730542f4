"""The measured cases of a report, read key by key.

A report of another version, or one written by hand, may lack or add anything: it never breaks a
page, what is missing is None or empty.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from grader.labs.results import Report


@dataclass(frozen=True, slots=True)
class SpeedCase:
    """One measured case; None where a number is missing. Times are microseconds a call."""

    group: str
    case: str
    size: float | None  # x of the plot, in units of ``axis``
    axis: str
    unit: str  # of the rates
    ratio: float | None  # the baseline's time over the student's
    low: float | None
    high: float | None
    student_us: float | None
    baseline_us: float | None
    rate: float | None
    baseline_rate: float | None
    roofline: float | None
    share: float | None  # rate over roofline, 0 to 1
    bound: str
    suspicious: str  # why a person has to look; empty for most
    notes: tuple[str, ...]
    function: str = ""
    tiers: tuple[tuple[str, bool], ...] = ()  # ratios, and whether each was reached

    @property
    def name(self) -> str:
        """The case with its group, as "forward, 8192 x 8192"."""
        return ", ".join(part for part in (self.group, self.case) if part)


def speed_cases(report: Report) -> tuple[SpeedCase, ...]:
    """The measured cases, in the order in which they were measured."""
    entries = map(table_of, listed(report.extras.get("speed")))
    return tuple(_case(entry) for entry in entries if entry)


def _case(entry: Mapping[str, Any]) -> SpeedCase:
    def text(key: str) -> str:
        return text_of(entry.get(key))

    def number(key: str) -> float | None:
        return number_of(entry.get(key))

    return SpeedCase(
        group=text("group"),
        case=text("case"),
        size=number("size"),
        axis=text("axis"),
        unit=text("unit"),
        ratio=number("ratio"),
        low=number("low"),
        high=number("high"),
        student_us=number("student_us"),
        baseline_us=number("baseline_us"),
        rate=number("rate"),
        baseline_rate=number("baseline_rate"),
        roofline=number("roofline"),
        share=number("share"),
        bound=text("bound"),
        suspicious=text("suspicious"),
        notes=tuple(filter(None, map(text_of, listed(entry.get("notes"))))),
        function=text("function"),
        tiers=tuple((step, done is True) for step, done in table_of(entry.get("tiers")).items()),
    )


def table_of(value: object) -> Mapping[str, Any]:
    """What JSON calls an object; empty for anything else."""
    return cast(Mapping[str, Any], value) if isinstance(value, dict) else {}


def listed(value: object) -> Sequence[Any]:
    """The entries of a list; none of anything else."""
    return cast(Sequence[Any], value) if isinstance(value, list | tuple) else ()


def text_of(value: object) -> str:
    """A string as it is; empty for anything else."""
    return value if isinstance(value, str) else ""


def number_of(value: object) -> float | None:
    """A number that can be drawn; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if abs(value) < 1e15 else None
