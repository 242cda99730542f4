"""Pictures of a class as SVG: how many reached how much, how far each task was solved.

Each is shown as an image and carries its own style, like the plots of a report. Counts stand on
the bars and shades differ in lightness, so that colour alone tells nothing apart.
"""

import html
import math
from collections.abc import Sequence
from dataclasses import dataclass

from grader.text import number, visible_line

WIDTH, HEIGHT = 360, 150
BARS_TOP, BARS_BOTTOM = 30, 118
ROW, NAME_WIDTH, BAR_END = 22, 112, 350
SHOWN_NAME = 17  # characters beside a bar
STYLE = """<style>
svg { --ink: #1f2328; --soft: #59636e; --line: #d1d9e0; --bar: #0969da;
  --all: #1a7f37; --some: #8fc79b; --none: #d8dde3; --on: #fff }
@media (prefers-color-scheme: dark) { svg { --ink: #f0f6fc; --soft: #9aa4ae; --line: #3d444d;
  --bar: #58a6ff; --all: #57c26f; --some: #2f6b3c; --none: #3d444d; --on: #0d1117 } }
text { font: 11.5px system-ui, sans-serif; fill: var(--ink) }
.soft { fill: var(--soft) } .mid { text-anchor: middle } .end { text-anchor: end }
.axis { stroke: var(--line) } .bar { fill: var(--bar) }
.all { fill: var(--all) } .some { fill: var(--some) } .none { fill: var(--none) }
text.on { fill: var(--on); text-anchor: middle } text.off { text-anchor: middle }
</style>"""


@dataclass(frozen=True, slots=True)
class Solved:
    """How many students earned all, some and none of a task's points."""

    name: str
    all: int
    some: int
    none: int


def histogram(values: Sequence[float], low: float, high: float, unit: str, bins: int = 10) -> str:
    """Draw how many values lie in each of some equal ranges from ``low`` to ``high``."""
    counts = [0] * bins
    width = (high - low) / bins or 1.0
    for value in values:
        counts[min(bins - 1, max(0, math.floor((value - low) / width)))] += 1
    tallest = max(counts) or 1
    step = (BAR_END - 10) / bins
    parts = [_header(HEIGHT), STYLE, _text(10, 13, "students", "soft")]
    for index, count in enumerate(counts):
        size = (BARS_BOTTOM - BARS_TOP) * count / tallest
        x = 10 + step * index
        if count:
            parts.append(_rect(x + 1, BARS_BOTTOM - size, step - 2, size, "bar"))
            parts.append(_text(x + step / 2, BARS_BOTTOM - size - 4, str(count), "mid"))
    parts.append(
        f'<line class="axis" x1="10" x2="{BAR_END}" y1="{BARS_BOTTOM}" y2="{BARS_BOTTOM}"/>'
    )
    for index in range(0, bins + 1, max(1, bins // 5)):
        kind = "soft end" if index == bins else "soft mid" if index else "soft"
        parts.append(_text(10 + step * index, BARS_BOTTOM + 15, number(low + width * index), kind))
    parts.append(_text(180, BARS_BOTTOM + 29, unit, "soft mid"))
    return "\n".join([*parts, "</svg>"])


def task_bars(tasks: Sequence[Solved]) -> str:
    """Draw a bar per task, of all who earned all, some or none of its points."""
    height = 30 + ROW * len(tasks)
    parts = [_header(height), STYLE]
    x = float(NAME_WIDTH)
    for kind, words in (("all", "all points"), ("some", "some"), ("none", "none")):
        parts += [_rect(x, 5, 10, 10, kind), _text(x + 14, 14, words, "soft")]
        x += 90
    for index, task in enumerate(tasks):
        parts += _row(task, 26 + ROW * index)
    return "\n".join([*parts, "</svg>"])


def _row(task: Solved, y: float) -> list[str]:
    total = task.all + task.some + task.none or 1
    parts = [_text(NAME_WIDTH - 6, y + 12, _short(task.name), "end")]
    x = float(NAME_WIDTH)
    for kind, count in (("all", task.all), ("some", task.some), ("none", task.none)):
        size = (BAR_END - NAME_WIDTH) * count / total
        if count:
            parts.append(_rect(x, y, max(0.0, size - 1), 16, kind))
            if size > 7 * len(str(count)) + 2:
                shade = "on" if kind == "all" else "off"
                parts.append(_text(x + size / 2, y + 12, str(count), shade))
        x += size
    return parts


def _short(name: str) -> str:
    return name if len(name) <= SHOWN_NAME else f"{name[: SHOWN_NAME - 1]}…"


def _header(height: int) -> str:
    # On a desktop 1.4 times as large as drawn, on a phone about as drawn.
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        f'width="{WIDTH * 7 // 5}" height="{height * 7 // 5}" role="img">'
    )


def _rect(x: float, y: float, width: float, height: float, kind: str) -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"'
    return f'<rect class="{kind}" {place}/>'


def _text(x: float, y: float, words: str, kind: str) -> str:
    shown = html.escape(visible_line(words, 60))
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}">{shown}</text>'
