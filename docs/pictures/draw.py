"""Draw the pictures of docs/triton.md: ``make pictures`` writes them beside this file.

Nothing is painted behind them: what stands outside of a cell is a grey that reads on white and on
black alike.
"""

import re
import tempfile
from collections.abc import Callable
from pathlib import Path

from grader.trace.run import traced
from grader.trace.svg import draw

INK = "#1f2933"  # on a filled cell
TEXT = "#77828e"  # on whatever the page's background is
EDGE = "#8a949f"
PLAIN, BRIGHT = "#d5dbe1", "#f0b849"
DEEP = "#c98a0c"  # amber that stands out from a white page too
HATCHES = {"grey": ("#f1f4f6", EDGE), "amber": ("#fdf1d8", DEEP)}  # ground and lines


def matrix() -> str:
    """Draw a 5 x 7 matrix under blocks of 2 x 4, with the lanes of program (2, 1) in amber."""
    side, left, top = 46, 118, 62
    parts = [_text(left + 4 * side, 22, "columns c", anchor="middle")]
    parts += [_text(left + (c + 0.5) * side, 50, str(c), anchor="middle") for c in range(8)]
    for r in range(6):
        parts.append(_text(left - 14, top + (r + 0.62) * side, str(r), anchor="end"))
        for c in range(8):
            ours, inside = (r // 2, c // 4) == (2, 1), r < 5 and c < 7
            fill = (BRIGHT if ours else PLAIN) if inside else _hatch(ours)
            parts.append(_cell(left + c * side, top + r * side, side, fill, str(7 * r + c)))
    for row in range(3):
        for column in range(2):
            x, y = left + column * 4 * side, top + row * 2 * side
            parts.append(_frame(x, y, 4 * side, 2 * side, EDGE))
    parts.append(_frame(left + 4 * side, top + 4 * side, 4 * side, 2 * side, DEEP))
    parts.append(_text(26, top + 3 * side, "rows r", anchor="middle", turned=True))
    right = left + 8 * side + 24
    lines = [
        ("program (2, 1)", True),
        ("r = 2·2 + [0 1]", False),
        ("c = 1·4 + [0 1 2 3]", False),
        ("offset = 7·r + 1·c", False),
        ("mask = (r < 5)", False),
        ("     & (c < 7)", False),
    ]
    for index, (line, strong) in enumerate(lines):
        parts.append(_text(right, top + 20 + 25 * index, line, code=True, strong=strong))
    keys = [(PLAIN, "an element"), (BRIGHT, "of this program"), (_hatch(False), "masked")]
    for index, (fill, words) in enumerate(keys):
        y = top + 186 + 32 * index
        parts.append(_cell(right, y, 22, fill, ""))
        parts.append(_text(right + 32, y + 16, words))
    return _svg(712, top + 6 * side + 14, "A 5 x 7 matrix under blocks of 2 x 4 lanes", parts)


def long_row() -> str:
    """Draw a row of 11 elements that a loop takes in blocks of 4 lanes, and what each lane adds."""
    side, left = 42, 176
    parts: list[str] = []
    parts.append(_text(left - 16, 38, "the row in memory", anchor="end"))
    for c in range(12):
        fill, words = (PLAIN, str(c)) if c < 11 else (_hatch(False), "?")
        parts.append(_cell(left + c * side, 12, side, fill, words))
    for turn in range(3):
        y = 84 + turn * 62
        parts.append(_text(left - 16, y + 26, f"first = {4 * turn}", anchor="end", code=True))
        for c in range(4 * turn, 4 * turn + 4):
            fill, words = (BRIGHT, str(c)) if c < 11 else (_hatch(True), "0")
            parts.append(_cell(left + c * side, y, side, fill, words))
        parts.append(_frame(left + 4 * turn * side, y, 4 * side, side, DEEP))
    for x in (left + 4 * side, left + 8 * side):
        parts.append(f'<path d="M{x} 60V266" stroke="{EDGE}" stroke-dasharray="3 5"/>')
    y, wide = 288, 3 * side
    parts.append(_text(left - 16, y + 26, "lanes = [4]", anchor="end", code=True))
    for lane, words in enumerate(["0 + 4 + 8", "1 + 5 + 9", "2 + 6 + 10", "3 + 7 + 0"]):
        parts.append(_cell(left + lane * wide, y, wide, BRIGHT, words, height=side))
    parts.append(_text(left - 16, y + 84, "tl.sum(lanes)", anchor="end", code=True))
    parts.append(f'<path d="M{left + 6 * side} {y + 46}v14" stroke="{EDGE}" stroke-width="2"/>')
    parts.append(_cell(left, y + 62, 12 * side, BRIGHT, "one number", height=34))
    return _svg(700, y + 108, "A row of 11 elements in blocks of 4 lanes", parts)


def trace() -> str:
    """Trace the first kernel of the page, as ``make trace`` would."""
    page = Path(__file__).parents[1] / "triton.md"
    code = re.findall(r"^```python\n(.*?)^```$", page.read_text("utf-8"), re.M | re.S)[0]
    with tempfile.TemporaryDirectory(prefix="inferlab-") as place:
        script = Path(place) / "mine.py"
        script.write_text(code, encoding="utf-8")
        return draw(traced(script, "", quiet=True).launches[0])


PICTURES: dict[str, Callable[[], str]] = {
    "matrix.svg": matrix,
    "long_row.svg": long_row,
    "trace.svg": trace,
}


def _svg(width: int, height: int, title: str, parts: list[str]) -> str:
    hatches = [
        f'<pattern id="{name}" width="9" height="9" patternUnits="userSpaceOnUse" '
        f'patternTransform="rotate(45)"><rect width="9" height="9" fill="{ground}"/>'
        f'<path d="M1 0V9" stroke="{lines}" stroke-width="1.5" stroke-opacity="0.55"/></pattern>'
        for name, (ground, lines) in HATCHES.items()
    ]
    opening = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" font-family="sans-serif" font-size="16" role="img">'
    )
    lines = [opening, f"<title>{title}</title>", "<defs>", *hatches, "</defs>", *parts, "</svg>"]
    return "\n".join(lines) + "\n"


def _hatch(ours: bool) -> str:
    return "url(#amber)" if ours else "url(#grey)"


def _cell(x: float, y: float, width: float, fill: str, words: str, height: float = 0) -> str:
    """Draw a filled box, a square unless a height is given, and words in its middle."""
    height = height or width
    box = (
        f'<rect x="{x}" y="{y}" width="{width}" height="{height}" fill="{fill}" stroke="{EDGE}" '
        f'stroke-width="1"/>'
    )
    if not words:
        return box
    return box + _text(x + width / 2, y + height / 2 + 6, words, anchor="middle", ink=INK)


def _frame(x: float, y: float, width: float, height: float, color: str) -> str:
    return (
        f'<rect x="{x}" y="{y}" width="{width}" height="{height}" fill="none" stroke="{color}" '
        f'stroke-width="3"/>'
    )


def _text(
    x: float,
    y: float,
    words: str,
    *,
    anchor: str = "start",
    ink: str = TEXT,
    code: bool = False,
    strong: bool = False,
    turned: bool = False,
) -> str:
    look = f'x="{x:g}" y="{y:g}" fill="{ink}" text-anchor="{anchor}"'
    look += ' font-family="monospace" font-size="15" xml:space="preserve"' if code else ""
    look += ' font-weight="bold"' if strong else ""
    look += f' transform="rotate(-90 {x:g} {y:g})"' if turned else ""
    return f"<text {look}>{words.replace('&', '&amp;').replace('<', '&lt;')}</text>"
