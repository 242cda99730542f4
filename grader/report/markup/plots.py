"""Lines that a suite records for the report: what a submission's work cost, beside what it might.

They are shown and never scored. A report of another version, or one written by hand, may hold
anything under ``extras["plots"]``: it never breaks a page.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from grader.labs.results import MOST_POINTS, Report
from grader.languages.language import say
from grader.report.facts.measured import listed, number_of, table_of, text_of
from grader.report.facts.speed import significant
from grader.report.markup.chart import Line, draw

YOURS = "yours"
Points = Sequence[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Plot:
    """Two lines over one axis: yours, and what it is compared with."""

    title: str
    axis: str  # what x is
    unit: str  # of y
    yours: Points
    other: Points
    other_name: str

    @property
    def figure(self) -> dict[str, str]:
        """The plot as a title and a picture."""
        name, unit, axis = say(self.other_name), say(self.unit), say(self.axis)
        lines = [Line(name, "base", self.other), Line(say(YOURS), "yours", self.yours)]
        return {"title": say(self.title), "svg": draw(unit, axis, lines)}

    @property
    def summary(self) -> str:
        """The plot in a line: its last point where both are known."""
        other = dict(self.other)
        both = [(x, y) for x, y in self.yours if x in other]
        if not both:
            return say(f"{self.title}: see the HTML report")
        x, y = both[-1]
        title, axis = say(self.title), say(self.axis)
        theirs = f"{say(self.other_name)}: {significant(other[x])}"
        at, value = significant(x), significant(y)
        return say(f"{title}, at {at} {axis}: {value} ({theirs})")


def plots_of(report: Report) -> tuple[Plot, ...]:
    """The plots that can be drawn, in the order in which they were recorded."""
    found = (_plot(table_of(entry)) for entry in listed(report.extras.get("plots")))
    return tuple(plot for plot in found if plot.yours)


def _plot(entry: Mapping[str, Any]) -> Plot:
    def text(key: str) -> str:
        return text_of(entry.get(key))

    yours, other = _points(entry.get("yours")), _points(entry.get("other"))
    return Plot(text("title"), text("axis"), text("unit"), yours, other, text("other_name"))


def _points(value: object) -> Points:
    """The points of a line from left to right; what is no point is left out."""
    found: list[tuple[float, float]] = []
    for point in listed(value)[:MOST_POINTS]:
        x, y, *_ = [*map(number_of, listed(point)), None, None]
        if x is not None and y is not None and x > 0 and y >= 0:
            found.append((x, y))
    return tuple(sorted(found))
