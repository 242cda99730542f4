"""The upper part of a picture: the grid of programs, and who touches what of each tensor."""

import math
from collections.abc import Iterable, Sequence

from grader.text import visible_line
from grader.trace.record import Launch, Step, Touchable
from grader.trace.sheet import LEFT, LETTER, SIDE, WIDTH, Sheet, cell, text, tint, wrapped

MOST_COLUMNS, MOST_ROWS = 22, 12
MOST_BOXES = 24  # programs of a grid in a row
MOST_LINES = 4  # that are named of one kind of access
TIMES = "\u00d7"
GAP = 22  # between tensors side by side
LEAST = 190  # pixels of a tensor, for what stands above it


def grid(sheet: Sheet, launch: Launch) -> None:
    """Draw a box for each program."""
    total = math.prod(launch.grid)
    sheet.below += 8
    sheet.line("programs", "strong", step=10)
    wide = 22 + 7 * sum(len(str(size - 1)) for size in launch.grid)
    across = total if len(launch.grid) == 1 else launch.grid[-1]
    across = max(1, min(across, MOST_BOXES, (WIDTH - 2 * LEFT) // wide))
    shown = min(total, (3 if len(launch.grid) == 1 else MOST_ROWS) * across)
    for number in range(shown):
        program = _ids(launch, number)
        row, column = divmod(number, across)
        look = f'id="{sheet.name}p{number}" fill="{tint(launch, program)}"'
        place = LEFT + column * wide, sheet.below + row * (SIDE + 2)
        sheet.parts.append(cell(*place, ",".join(map(str, program)), look, width=wide - 4))
    sheet.below += math.ceil(shown / across) * (SIDE + 2) + 12
    if total > shown:
        sheet.line(f"… {total - shown:,} more programs", "soft")


def _ids(launch: Launch, number: int) -> tuple[int, ...]:
    found: list[int] = []
    for size in reversed(launch.grid):
        number, at = divmod(number, size)
        found.insert(0, at)
    return tuple(found)


def tensors(sheet: Sheet, launch: Launch) -> None:
    """Draw the tensors, side by side where there is room."""
    top, bottom, left = sheet.below, sheet.below, float(LEFT)
    for number, tensor in enumerate(launch.tensors):
        wide = _width(tensor)
        if left > LEFT and left + wide > WIDTH - LEFT:
            top, left = bottom, float(LEFT)
        sheet.below = top
        _tensor(sheet, launch, number, left)
        bottom = max(bottom, sheet.below)
        left += wide + GAP
    sheet.below = bottom + 2
    told = "A cell is an element, with the program that touches it; dashed: none does"
    if math.prod(launch.grid) > 1:
        told += f"; all: every program, {TIMES}2: two"
    sheet.line(f"{told}.", "small soft", step=17)


def _margin(tensor: Touchable) -> float:
    """Return the room for the names of rows."""
    names = [_row_name(tensor, row) for row in range(min(tensor.rows, MOST_ROWS))]
    longest = max(map(len, names), default=0)
    return 6.2 * longest + 6 if longest else 0


def _side(tensor: Touchable) -> float:
    columns = min(tensor.columns, MOST_COLUMNS)
    return min(SIDE + 3, (WIDTH - 2 * LEFT - _margin(tensor)) / max(columns, 1))


def _width(tensor: Touchable) -> float:
    cells = _margin(tensor) + min(tensor.columns, MOST_COLUMNS) * _side(tensor)
    return max(cells, LEAST, LETTER * len(_title(tensor)))


def _title(tensor: Touchable) -> str:
    shape = ", ".join(map(str, tensor.shape))
    return f"{visible_line(tensor.name, 24)} [{shape}] {tensor.dtype}"


def _tensor(sheet: Sheet, launch: Launch, number: int, left: float) -> None:
    """Draw a tensor as rows of its last axis."""
    tensor = launch.tensors[number]
    own = [step for step in launch.steps if step.tensor == number]
    sheet.below += 12
    sheet.parts.append(text(left, sheet.below, _title(tensor), "strong"))
    strides = ", ".join(map(str, tensor.strides))
    for words in (f"strides ({strides})", kinds(own)):
        for part in wrapped(words, _width(tensor) + GAP / 2, "small soft"):
            sheet.below += 16
            sheet.parts.append(text(left, sheet.below, part, "small soft"))
    columns, rows = min(tensor.columns, MOST_COLUMNS), min(tensor.rows, MOST_ROWS)
    touched, side = _touched(own), _side(tensor)
    inner = left + _margin(tensor)
    sheet.below += 15
    for column in range(columns if rows else 0):
        sheet.parts.append(text(inner + (column + 0.5) * side, sheet.below, str(column), "axis"))
    sheet.below += 5
    for row in range(rows):
        y = sheet.below + row * SIDE
        sheet.parts.append(text(inner - 6, y + 18, _row_name(tensor, row), "axis end"))
        for column in range(columns):
            element = row * tensor.columns + column
            programs = touched.get(element, [])
            look = f'id="{sheet.name}t{number}e{element}" {_fill(launch, programs)}'
            words = _who(launch, programs)
            sheet.parts.append(cell(inner + column * side, y, words, look, width=side))
    sheet.below += rows * SIDE + 18
    more = ((tensor.columns - columns, "columns"), (tensor.rows - rows, "rows"))
    told = [f"{count:,} more {noun}" for count, noun in more if count > 0]
    if told:
        words = f"… {' and '.join(told)} are not drawn"
        sheet.parts.append(text(left, sheet.below, words, "small soft"))
        sheet.below += 16


def _row_name(tensor: Touchable, row: int) -> str:
    if len(tensor.shape) < 2:
        return ""
    return ",".join(map(str, tensor.index(row * tensor.columns)[:-1]))


def kinds(steps: Iterable[Step]) -> str:
    """Say at which lines a tensor is loaded, stored and so on."""
    lines: dict[str, list[int]] = {}
    for step in steps:
        if step.line not in lines.setdefault(step.kind, []):
            lines[step.kind].append(step.line)
    told: list[str] = []
    for kind, at in lines.items():
        rest = "…" if len(at) > MOST_LINES else ""
        told.append(f"{kind} in line {', '.join(map(str, at[:MOST_LINES]))}{rest}")
    return ", ".join(told) or "not touched"


def _touched(steps: Iterable[Step]) -> dict[int, list[tuple[int, ...]]]:
    """Return of each element the programs that touch it."""
    found: dict[int, list[tuple[int, ...]]] = {}
    for step in steps:
        for element in step.elements:
            programs = found.setdefault(element, [])
            if step.program not in programs:
                programs.append(step.program)
    return found


def _fill(launch: Launch, programs: Sequence[tuple[int, ...]]) -> str:
    if not programs:
        return 'class="none" stroke-dasharray="3 3"'
    if len(programs) == 1:
        return f'fill="{tint(launch, programs[0])}"'
    return 'class="many"'


def _who(launch: Launch, programs: Sequence[tuple[int, ...]]) -> str:
    """Return the ids of the one program that touches an element, or how many do."""
    if not programs:
        return ""
    if len(programs) == 1:
        return ",".join(map(str, programs[0]))
    return "all" if len(programs) == math.prod(launch.grid) else f"{TIMES}{len(programs)}"
