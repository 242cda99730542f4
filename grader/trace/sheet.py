"""What a picture of a launch is put together from: cells, texts, and how far down they reach.

The picture is shown as an image or inside of a page, so it carries its own style: colours for light
and dark. A program has a colour and its number in every cell, so that colour alone says nothing.
"""

import html
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from grader.text import visible_line
from grader.trace.record import Launch

WIDTH, LEFT = 720, 16
SIDE = 27  # of a cell
LETTER = 7.3  # pixels, on average, of a text
TINTS = ("#a9d3f0", "#f6cd8b", "#9ddcc4", "#f3b39f", "#e6c0da", "#f2eaa0")
STYLE = """<style>
.trace { --ink: #1f2328; --soft: #59636e; --edge: #8a949f; --none: #eef1f4; --bad: #b3261e }
@media (prefers-color-scheme: dark) {
.trace { --ink: #f0f6fc; --soft: #9aa4ae; --edge: #77828e; --none: #262c36; --bad: #ff8a80 } }
.trace text { font: 13px system-ui, sans-serif; fill: var(--ink) }
.trace .soft { fill: var(--soft) } .trace .bad { fill: var(--bad) }
.trace .head { font-size: 16px; font-weight: 600 } .trace .strong { font-weight: 600 }
.trace .code { font: 12px ui-monospace, monospace; white-space: pre }
.trace .cell { font-size: 11px; text-anchor: middle; fill: #1f2933 }
.trace .axis { font-size: 10px; text-anchor: middle; fill: var(--soft) }
.trace .end { text-anchor: end } .trace .small { font-size: 12px }
.trace rect { stroke: var(--edge) } .trace .none { fill: var(--none) }
.trace .many { fill: #d5dbe1 }
.trace .outside { fill: #fff; stroke: var(--bad); stroke-width: 2 }
</style>"""
HATCH = (
    '<defs><pattern id="{id}" width="7" height="7" patternUnits="userSpaceOnUse" '
    'patternTransform="rotate(45)"><rect width="7" height="7" style="stroke:none" '
    'fill="#f1f4f6"/><path d="M1 0V7" stroke="#8a949f" stroke-width="1.5"/></pattern></defs>'
)


@dataclass(slots=True)
class Sheet:
    """The parts drawn so far, and how far down they reach."""

    name: str  # begins each id, so that a page may hold several
    parts: list[str]
    below: float = 24

    def line(self, words: str, kind: str = "", left: float = LEFT, step: float = 19) -> None:
        """Write a text, in several lines if it is long, and go on below it."""
        for part in wrapped(words, WIDTH - left, kind):
            self.parts.append(text(left, self.below, part, kind))
            self.below += step

    def hidden(self) -> str:
        """Return the filling of a lane that a mask hides."""
        return f'fill="url(#{self.name}hidden)"'


def tint(launch: Launch, program: Sequence[int]) -> str:
    """Return the colour of a program; neighbours in a grid differ."""
    return TINTS[number_of(launch, program) % len(TINTS)]


def number_of(launch: Launch, program: Sequence[int]) -> int:
    """Return the place of a program in its grid."""
    number = 0
    for at, size in zip(program, launch.grid, strict=True):
        number = number * size + at
    return number


def cell(
    x: float, y: float, words: str, look: str, *, width: float = SIDE, height: float = SIDE
) -> str:
    """Draw a box with words in its middle; ``look`` are its attributes."""
    box = f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" {look}/>'
    return box + text(x + width / 2, y + height / 2 + 4, words, "cell") if words else box


def text(x: float, y: float, words: str, kind: str = "") -> str:
    """Write a line of text."""
    look = f' class="{kind}"' if kind else ""
    return f'<text x="{x:g}" y="{y:g}"{look}>{html.escape(visible_line(words, 200))}</text>'


def wrapped(words: str, wide: float, kind: str = "") -> list[str]:
    """Break a text into lines of a width in pixels; code is cut instead."""
    letters = max(int(wide / (LETTER if kind != "small soft" else LETTER - 0.7)), 8)
    if "code" in kind:
        return [words if len(words) <= letters else f"{words[: letters - 1]}…"]
    return textwrap.wrap(words, letters, break_on_hyphens=False) or [""]
