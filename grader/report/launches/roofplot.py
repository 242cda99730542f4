"""A roofline as SVG: what cards reach at each arithmetic intensity, and where launches stand.

The picture may be shown as an image, so it carries its own style. Cards differ by colour, by dashes
and by their place in the key; launches are numbered. Below the plot stands, on the same axis, how
far a launch is moved by what it asks for again.
"""

import html
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from grader.labs.cards import ROOFS, STEPS, Roof
from grader.report.facts.quantities import amount
from grader.report.launches.rooflines import Gauged, computed, largest
from grader.report.markup.chart import Scale
from grader.text import visible_line

WIDTH = 800
LEFT, RIGHT, TOP, BOTTOM = 92, 510, 42, 330
KEY = 530  # where the column of names begins
ROW = 22
MOST_LAUNCHES = 12
LOOKS = (  # colour by day, by night, dashes
    ("#0969da", "#58a6ff", ""),
    ("#9a5b00", "#e0a040", "7 3"),
    ("#1a7f37", "#4ac26b", "2 3"),
    ("#8250df", "#bf8cff", "9 3 2 3"),
    ("#b3261e", "#ff8a80", "4 4"),
)
INK = "--ink: #1f2328; --soft: #59636e; --grid: #d1d9e0; --back: #ffffff"
NIGHT = "--ink: #f0f6fc; --soft: #9aa4ae; --grid: #3d444d; --back: #0d1117"
_DAY = " ".join(f"--c{i}: {look[0]};" for i, look in enumerate(LOOKS))
_DARK = " ".join(f"--c{i}: {look[1]};" for i, look in enumerate(LOOKS))
_CARDS = "\n".join(f".c{i} {{ stroke: var(--c{i}) }}" for i in range(len(LOOKS)))
_DOTS = "\n".join(f".d{i} {{ fill: var(--c{i}) }}" for i in range(len(LOOKS)))
STYLE = f"""<style>
svg.roofs {{ {INK}; {_DAY} }}
@media (prefers-color-scheme: dark) {{ svg.roofs {{ {NIGHT}; {_DARK} }} }}
.roofs text {{ font: 12px system-ui, sans-serif; fill: var(--ink) }}
.roofs .soft {{ fill: var(--soft) }} .roofs .end {{ text-anchor: end }}
.roofs .mid {{ text-anchor: middle }} .roofs .strong {{ font-weight: 600 }}
.roofs .grid {{ stroke: var(--grid) }} .roofs .back {{ fill: var(--back) }}
.roofs .at {{ stroke: var(--soft); stroke-dasharray: 1 3 }}
.roofs polyline {{ fill: none; stroke-width: 2 }}
.roofs .span {{ stroke: var(--ink); stroke-width: 2 }} .roofs .full {{ fill: var(--ink) }}
.roofs .hollow {{ fill: var(--back); stroke: var(--ink); stroke-width: 2 }}
{_CARDS}
{_DOTS}
</style>"""


def roof_plot(gauged: Sequence[Gauged], title: str) -> str:
    """Return the picture of the largest launch of each kernel; it holds its alternative text."""
    shown = largest(gauged)[:MOST_LAUNCHES]
    kind = ceiling(shown)
    drawn = [(n, one) for n, one in enumerate(shown, 1) if one.intensity]
    x, y = _scales([one for _, one in drawn], kind)
    height = BOTTOM + 78 + ROW * len(shown) + 22 * bool(shown)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="roofs" viewBox="0 0 {WIDTH} {height}" '
        f'width="{WIDTH}" height="{height}" role="img">',
        f"<title>{html.escape(alternative(shown, title))}</title>",
        STYLE,
        f'<rect class="back" width="{WIDTH}" height="{height}"/>',
        _text(12, 20, title, "strong"),
        *_axes(x, y),
        *_roofs(x, y, kind),
        *_launches(drawn, x, y),
        *_rows(shown, x),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def alternative(shown: Sequence[Gauged], title: str) -> str:
    """Say what the picture shows."""
    parts = [f"{title}, beside the roofs of {', '.join(roof.name for roof in ROOFS)}."]
    for number, one in enumerate(shown, 1):
        bounds: dict[str, list[str]] = {}
        for roof in ROOFS:
            bounds.setdefault(one.times(roof).bound or "nothing", []).append(roof.name)
        told = "; ".join(f"{bound} on {', '.join(names)}" for bound, names in bounds.items())
        name = visible_line(one.metered.kernel, 60)
        parts.append(
            f"{number}, {name}: {computed(one)}; bytes asked for, over those that must move:"
            f" {one.often}; bound by {told}."
        )
    return " ".join(parts)


def ceiling(shown: Sequence[Gauged]) -> str:
    """Return what most products of blocks multiply; "" where there are none on tensor cores."""
    total: Counter[str] = Counter()
    for one in shown:
        for kind, count in one.metered.dots.items():
            total[STEPS.get(kind, (kind, 1))[0]] += count
    total.pop("fp32", None)
    return total.most_common(1)[0][0] if total else ""


def _peak(roof: Roof, kind: str) -> float:
    return roof.matrix.get(kind) or roof.matrix["fp16"] if kind else roof.vector


def _scales(drawn: Sequence[Gauged], kind: str) -> tuple[Scale, Scale]:
    """Return the axes: all launches, and the edge of each roof."""
    at = [value for one in drawn for value in (one.intensity, one.requested_intensity)]
    edges = [_peak(roof, kind) / roof.bandwidth for roof in ROOFS]
    low = _decade(min([0.5, *at]) / 1.2, up=False)
    high = _decade(max([*edges, *at]) * 1.5, up=True)
    reached = [one.metered.operations / one.times(roof).least for one in drawn for roof in ROOFS]
    least = min([low * min(roof.bandwidth for roof in ROOFS), *reached])
    most = max([*(_peak(roof, kind) for roof in ROOFS), *reached])
    return (
        Scale(low, high, LEFT, RIGHT, log=True),
        Scale(_decade(least, up=False), _decade(most, up=True), BOTTOM, TOP, log=True),
    )


def _decade(value: float, *, up: bool) -> float:
    power = math.log10(value)
    return 10.0 ** (math.ceil(power - 1e-9) if up else math.floor(power + 1e-9))


def _decades(scale: Scale) -> Iterator[float]:
    for power in range(round(math.log10(scale.low)), round(math.log10(scale.high)) + 1):
        yield 10.0**power


def _axes(x: Scale, y: Scale) -> Iterable[str]:
    for value in _decades(y):
        place = y(value)
        yield f'<line class="grid" x1="{LEFT}" x2="{RIGHT}" y1="{place:.1f}" y2="{place:.1f}"/>'
        yield _text(LEFT - 6, place + 4, amount(value, "FLOP/s"), "soft end")
    for value in _decades(x):
        place = x(value)
        yield f'<line class="grid" x1="{place:.1f}" x2="{place:.1f}" y1="{TOP}" y2="{BOTTOM}"/>'
        yield _text(place, BOTTOM + 16, f"{value:g}", "soft mid")
    words = "FLOPs for each byte, logarithmic"
    yield _text((LEFT + RIGHT) / 2, BOTTOM + 34, words, "soft mid")


def _roofs(x: Scale, y: Scale, kind: str) -> Iterable[str]:
    over = f"tensor cores, {kind}" if kind else "float32 units"
    yield _text(KEY, TOP + 4, f"memory, then {over}", "soft")
    for number, roof in enumerate(ROOFS):
        peak = _peak(roof, kind)
        edge = min(max(peak / roof.bandwidth, x.low), x.high)
        points = [(x.low, x.low * roof.bandwidth), (edge, edge * roof.bandwidth), (x.high, peak)]
        places = " ".join(f"{x(a):.1f},{y(b):.1f}" for a, b in points)
        look = f'class="c{number}" stroke-dasharray="{LOOKS[number][2]}"'
        yield f'<polyline {look} points="{places}"/>'
        line = TOP + 24 + 40 * number
        yield f'<polyline {look} points="{KEY},{line - 4} {KEY + 30},{line - 4}"/>'
        yield _text(KEY + 38, line, roof.name, "strong")
        speeds = f"{amount(roof.bandwidth, 'B/s')}, {amount(peak, 'FLOP/s')}"
        yield _text(KEY + 38, line + 15, speeds, "soft")


def _launches(drawn: Sequence[tuple[int, Gauged]], x: Scale, y: Scale) -> Iterable[str]:
    """Draw each launch as a line at its intensity, with a dot for each card."""
    taken: list[float] = []
    for number, one in sorted(drawn, key=lambda pair: pair[1].intensity):
        place = x(one.intensity)
        label = max([place, *(last + 15 for last in taken[-1:])])
        taken.append(label)
        yield f'<line class="at" x1="{place:.1f}" x2="{place:.1f}" y1="{TOP}" y2="{BOTTOM}"/>'
        yield _text(label, TOP - 5, str(number), "mid strong")
        for card, roof in enumerate(ROOFS):
            reached = y(one.metered.operations / one.times(roof).least)
            yield f'<circle class="d{card}" cx="{place:.1f}" cy="{reached:.1f}" r="4"/>'


def _rows(shown: Sequence[Gauged], x: Scale) -> Iterable[str]:
    """Draw how far each launch is moved by what it asks for again."""
    top = BOTTOM + 60
    if shown:
        yield _text(KEY, BOTTOM + 38, "bytes asked for, over those that must move", "soft")
    for row, one in enumerate(shown):
        y = top + row * ROW
        name = f"{row + 1} {visible_line(one.metered.kernel, 22)}"
        yield _text(KEY, y + 4, f"{name}: {one.often}", "")
        if not one.intensity:
            yield _text(LEFT, y + 4, "no FLOPs", "soft")
            continue
        full, asked = x(one.intensity), x(one.requested_intensity)
        yield f'<line class="span" x1="{asked:.1f}" x2="{full:.1f}" y1="{y}" y2="{y}"/>'
        yield f'<circle class="hollow" cx="{asked:.1f}" cy="{y}" r="5"/>'
        yield f'<circle class="full" cx="{full:.1f}" cy="{y}" r="4"/>'
    if shown:
        words = "full: by the bytes that must move; hollow: by those that are asked for"
        yield _text(LEFT, top + ROW * len(shown) + 6, words, "soft")


def _text(x: float, y: float, words: str, kind: str) -> str:
    look = f' class="{kind}"' if kind else ""
    return f'<text{look} x="{x:.1f}" y="{y:.1f}">{html.escape(words)}</text>'
