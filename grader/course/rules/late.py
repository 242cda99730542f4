"""``[late]`` of ``course.toml``: what is left of late work, and slip days that make up for it."""

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Any, cast

from grader.labs.toml import Table

MOST_DAYS = 1000  # of lateness
MOST_MINUTES = 24 * 60  # of grace


class Curve(StrEnum):
    """How what is left of late work falls day by day."""

    LINEAR = "linear"  # by the same share each day
    STEPS = "steps"  # to what a list says of each day
    NONE_AFTER = "none after"  # not at all, and to nothing after the last day


@dataclass(frozen=True, slots=True)
class LateRule:
    """What a late attempt costs; the plain rule is that none counts."""

    per_day: float = 0.0  # share of the points lost for each started day, 0 to 1
    days: int = 0  # after so many, by the calendar of the course's zone, nothing counts
    steps: tuple[float, ...] = ()  # share that is kept after each day begun, instead of per_day
    grace: timedelta = timedelta(0)  # after the deadline, before lateness begins
    slip_days: int = 0  # that a student may spend in all labs
    slip_per_lab: int = 0  # of them, in one lab

    @property
    def takes_late(self) -> bool:
        """Whether anything that comes after a deadline can count."""
        return bool(self.days or self.slip_per_lab or self.grace)

    def kept(self, late_days: int) -> float:
        """Return the share of its points that work keeps which is so many days late."""
        if late_days <= 0:
            return 1.0
        if late_days > self.days:
            return 0.0
        return self.steps[late_days - 1] if self.steps else max(0.0, 1.0 - self.per_day * late_days)

    def spent(self, late_days: int, left: int) -> int:
        """Return how many of the slip days that are left work of so many late days takes.

        As many as it can use, and none that would change nothing.
        """
        most = min(late_days, left, self.slip_per_lab)
        if most <= 0:
            return 0
        return max(range(most + 1), key=lambda count: (self.kept(late_days - count), -count))


def late_rule(table: Table) -> LateRule:
    """Read and check ``[late]``."""
    curve = _curve(table)
    per_day, steps = table.value("per_day", 0.0), _steps(table)
    days = _whole(table, "days", MOST_DAYS, "days")
    grace = _whole(table, "grace", MOST_MINUTES, "minutes")
    slips = _whole(table, "slip_days", MOST_DAYS, "days")
    per_lab = _whole(table, "slip_per_lab", MOST_DAYS, "days")
    table.finish()
    if isinstance(per_day, bool) or not isinstance(per_day, int | float) or not 0 <= per_day <= 1:
        raise table.error("per_day", f"must be a share from 0 to 1, not {per_day!r}")
    if curve is not Curve.LINEAR and "per_day" in table.data:
        raise table.error("per_day", f'belongs to the curve "linear", and this is "{curve}"')
    if curve is Curve.STEPS:
        if "days" in table.data:
            raise table.error("days", f"follows from the {len(steps)} steps: leave it out")
        days = len(steps)
    elif steps:
        raise table.error("steps", f'belongs to the curve "steps", and this is "{curve}"')
    if not days and (per_day or curve is Curve.NONE_AFTER):
        raise table.error("days", "is missing: after how many days does nothing count?")
    if "slip_per_lab" in table.data and not 0 < per_lab <= slips:
        told = f"must be 1 to {slips}, as there are slip_days" if slips else "needs slip_days"
        raise table.error("slip_per_lab", f"{told}, not {per_lab}" if slips else told)
    return LateRule(float(per_day), days, steps, timedelta(minutes=grace), slips, per_lab or slips)


def _curve(table: Table) -> Curve:
    text = table.text("curve", Curve.STEPS if "steps" in table.data else Curve.LINEAR)
    if text not in tuple(Curve):
        choices = ", ".join(f'"{each}"' for each in Curve)
        raise table.error("curve", f"must be one of {choices}, not {text!r}")
    if text == Curve.STEPS and "steps" not in table.data:
        raise table.error("steps", "is missing: the shares that are kept, such as [0.9, 0.7, 0.5]")
    return Curve(text)


def _steps(table: Table) -> tuple[float, ...]:
    """Read the shares that are kept; none without the key."""
    values = table.value("steps", None)
    if values is None:
        return ()
    if not isinstance(values, list) or not 0 < len(cast(list[Any], values)) <= MOST_DAYS:
        raise table.error("steps", "must be a list of shares, such as [0.9, 0.7, 0.5]")
    found = cast(list[Any], values)
    before = 1.0
    for value in found:
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
            raise table.error("steps", f"must hold shares from 0 to 1 only, not {value!r}")
        if value > before:
            raise table.error("steps", f"must not rise: {value:g} comes after {before:g}")
        before = value
    return tuple(map(float, found))


def _whole(table: Table, key: str, most: int, unit: str) -> int:
    value = table.value(key, 0)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise table.error(key, f"must be a whole number of {unit}, 0 or more, not {value!r}")
    if value > most:
        raise table.error(key, f"must be at most {most}, not {value}")
    return value
