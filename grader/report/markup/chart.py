"""Rates against sizes as SVG: yours, the baseline, the roofline, each labelled at its line.

The picture is shown as an image, so it carries its own style: colours for light and dark, and a
width at which its text is still legible on a phone. Colour alone tells nothing apart: the
student's points are discs, the baseline's squares, the roofline is dashed, and each has its name.
"""

import html
import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from grader.languages.language import say, word
from grader.report.facts.measured import SpeedCase
from grader.report.facts.speed import significant
from grader.text import visible_line

WIDTH, HEIGHT = 360, 230
LEFT, RIGHT, TOP, BOTTOM = 42, 292, 26, 192
LINE_HEIGHT = 14
LOG_FROM = 4.0  # sizes that span more than this factor stand on a logarithmic axis
TICK_GAP = 40  # between labels of sizes
# On a desktop 1.4 times as large as drawn, on a phone about as drawn: 11 to 16 pixels of text.
HEADER = (
    f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
    f'width="{WIDTH * 7 // 5}" height="{HEIGHT * 7 // 5}" role="img">'
)
STYLE = """<style>
svg { --ink: #1f2328; --soft: #59636e; --grid: #d1d9e0; --yours: #0969da; --base: #9a5b00 }
@media (prefers-color-scheme: dark) {
svg { --ink: #f0f6fc; --soft: #9aa4ae; --grid: #3d444d; --yours: #58a6ff; --base: #e0a040 } }
text { font: 11.5px system-ui, sans-serif; fill: var(--ink) }
.soft { fill: var(--soft) } .end { text-anchor: end } .mid { text-anchor: middle }
.grid { stroke: var(--grid) }
polyline { fill: none; stroke-width: 2 }
.yours { stroke: var(--yours); fill: var(--yours) } text.yours { stroke: none }
.base { stroke: var(--base); fill: var(--base) } text.base { stroke: none }
.roof { stroke: var(--soft); fill: var(--soft); stroke-dasharray: 5 4 } text.roof { stroke: none }
polyline.yours, polyline.base, polyline.roof, .hollow { fill: none; stroke-width: 2 }
</style>"""


@dataclass(frozen=True, slots=True)
class Scale:
    """Maps values onto [start, end] of the picture, evenly or by their logarithm."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        """The place of a value; the middle where all values are the same."""
        low, high, value = (self._bent(v) for v in (self.low, self.high, value))
        part = (value - low) / (high - low) if high > low else 0.5
        return self.start + part * (self.end - self.start)

    def _bent(self, value: float) -> float:
        return math.log(value) if self.log else value


@dataclass(frozen=True, slots=True)
class Line:
    """Named points from left to right; ``kind`` is "yours", "base" or "roof"."""

    name: str
    kind: str
    points: Sequence[tuple[float, float]]


def speed_figures(cases: Sequence[SpeedCase]) -> list[dict[str, str]]:
    """One figure per group that has sizes and rates, as ``extras["figures"]`` holds them."""
    groups: dict[tuple[str, str, str], list[SpeedCase]] = {}
    for case in cases:
        if case.size is not None and case.size > 0 and case.rate is not None and case.rate > 0:
            groups.setdefault((case.group, case.unit, case.axis), []).append(case)
    return [
        {"title": _title(group or word("speed"), unit, found), "svg": speed_plot(found)}
        for (group, unit, _), found in groups.items()
    ]


def _title(group: str, unit: str, cases: Sequence[SpeedCase]) -> str:
    title = say(f"{group}: {unit} by size")
    hollow = say(" (a hollow point is not plausible and counts as missed)")
    return title + hollow if any(case.suspicious for case in cases) else title


def speed_plot(cases: Sequence[SpeedCase]) -> str:
    """The picture of one group; every case has a size and a rate above 0."""
    ordered = sorted(cases, key=lambda case: case.size or 0.0)
    hollow = {i for i, case in enumerate(ordered) if case.suspicious}
    axis = say(f"size in {ordered[0].axis}")
    return draw(ordered[0].unit, axis, [*_series(ordered)], hollow)


def draw(unit: str, axis: str, lines: Sequence[Line], hollow: Collection[int] = ()) -> str:
    """The picture of some lines over one axis; every x is above 0, and some y is known.

    ``hollow`` are the numbers of the points of yours that are drawn so.
    """
    sizes = sorted({x for line in lines for x, _ in line.points})
    top = max(y for line in lines for _, y in line.points) or 1.0
    x = Scale(sizes[0], sizes[-1], LEFT + 14, RIGHT - 10, log=sizes[-1] > LOG_FROM * sizes[0])
    step = tick_step(top)
    y = Scale(0.0, step * math.ceil(top / step), BOTTOM, TOP)
    parts = [HEADER, STYLE, *_axes(unit, axis, x, y, step, sizes)]
    ends: list[tuple[float, str, str]] = []
    for line in lines:
        places = [(x(size), y(rate)) for size, rate in line.points]
        if places:
            parts += _line(line.kind, places)
            ends.append((places[-1][1], line.kind, line.name))
    yours = [point for line in lines if line.kind == "yours" for point in line.points]
    parts += [_mark("yours", x(a), y(b), i in hollow) for i, (a, b) in enumerate(yours)]
    return "\n".join([*parts, *_labels(ends), "</svg>"])


def _series(cases: Sequence[SpeedCase]) -> Iterable[Line]:
    pairs = [(say("roofline"), "roof", [(c.size, c.roofline) for c in cases])]
    pairs += [(say("baseline"), "base", [(c.size, c.baseline_rate) for c in cases])]
    pairs += [(say("yours"), "yours", [(c.size, c.rate) for c in cases])]
    for name, kind, points in pairs:
        yield Line(name, kind, [(s, r) for s, r in points if s is not None and r is not None])


def tick_step(top: float) -> float:
    """A step of 1, 2 or 5 times a power of ten that needs at most five ticks up to ``top``."""
    power = 10.0 ** math.floor(math.log10(top / 5))
    return next(power * factor for factor in (1, 2, 5, 10) if power * factor * 5 >= top)


def _axes(
    unit: str, axis: str, x: Scale, y: Scale, step: float, sizes: Sequence[float]
) -> Iterable[str]:
    for index in range(round(y.high / step) + 1):
        place = y(index * step)
        yield f'<line class="grid" x1="{LEFT}" x2="{RIGHT}" y1="{place:.1f}" y2="{place:.1f}"/>'
        yield _text(LEFT - 5, place + 4, significant(index * step), "soft end")
    yield _text(4, 13, unit, "soft")
    last = -math.inf
    for size in sizes:
        if x(size) - last >= TICK_GAP:
            last = x(size)
            yield f'<line class="grid" x1="{last:.1f}" x2="{last:.1f}" y1="{BOTTOM}" y2="196"/>'
            yield _text(last, BOTTOM + 17, significant(size), "soft mid")
    scale = say(", logarithmic") if x.log else ""
    yield _text((LEFT + RIGHT) / 2, BOTTOM + 33, f"{axis}{scale}", "soft mid")


def _line(kind: str, places: Sequence[tuple[float, float]]) -> Iterable[str]:
    xs = [place[0] for place in places]
    if kind == "roof" and len(places) == 1:
        # A limit holds beyond the one size that was measured.
        places = [(LEFT, places[0][1]), (RIGHT, places[0][1])]
        xs = [LEFT, RIGHT]
    # Two cases of one size are two points: a line through both would mean nothing.
    if len(places) > 1 and len(set(xs)) == len(xs):
        points = " ".join(f"{px:.1f},{py:.1f}" for px, py in places)
        yield f'<polyline class="{kind}" points="{points}"/>'
    if kind == "base":
        yield from (_mark(kind, px, py) for px, py in places)


def _mark(kind: str, x: float, y: float, hollow: bool = False) -> str:
    shape = f"{kind} hollow" if hollow else kind
    if kind == "base":
        return f'<rect class="{shape}" x="{x - 4:.1f}" y="{y - 4:.1f}" width="8" height="8"/>'
    return f'<circle class="{shape}" cx="{x:.1f}" cy="{y:.1f}" r="3.5"/>'


def _labels(ends: Iterable[tuple[float, str, str]]) -> Iterable[str]:
    """The name of each line beside its end, pushed down where two would overlap."""
    ordered = sorted(ends)
    # Room is left below for the labels that follow.
    floor = BOTTOM - LINE_HEIGHT * (len(ordered) - 1)
    last = -math.inf
    for index, (place, kind, name) in enumerate(ordered):
        last = max(min(place, floor + LINE_HEIGHT * index), last + LINE_HEIGHT)
        yield _text(RIGHT + 8, last + 4, name, kind)


def _text(x: float, y: float, words: str, kind: str) -> str:
    shown = html.escape(visible_line(words, 40))
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}">{shown}</text>'
