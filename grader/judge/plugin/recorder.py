"""Lines that a suite records for the report; ``plots`` draws them, and nothing scores them."""

from collections.abc import Callable, Sequence
from typing import Any

from grader.labs.results import MOST_POINTS

Points = Sequence[tuple[float, float]]


class Recorder:
    """The ``plot`` fixture: hands a plot to the report."""

    def __init__(self, emit: Callable[[str, Any], None]) -> None:
        self._emit = emit

    def __call__(
        self, title: str, *, axis: str, unit: str, yours: Points, other: Points, other_name: str
    ) -> None:
        """Record two lines of (x, y) points, y 0 or more; without points of yours nothing."""
        lines = {"yours": [*yours][:MOST_POINTS], "other": [*other][:MOST_POINTS]}
        if yours:
            names = {"title": title, "axis": axis, "unit": unit, "other_name": other_name}
            self._emit("plot", {**names, **lines})
