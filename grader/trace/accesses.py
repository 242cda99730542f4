"""The lower part of a picture: access by access, with the lanes of each program's block.

Where programs do the same things in the same order, which is usual, they stand side by side at the
line that they run: that one comes first is the interpreter's choice and not the GPU's.
"""

import math
from collections.abc import Sequence

from grader.text import visible_line
from grader.trace.record import ELSEWHERE, HIDDEN, Launch, Step
from grader.trace.sheet import LEFT, SIDE, WIDTH, Sheet, cell, text, tint, wrapped
from grader.trace.words import counted, elements_in_words, program_name

MOST_PROGRAMS = 3
MOST_STEPS = 8  # of a program
MOST_LANES, MOST_ROWS = 23, 7  # of a block
MOST_CODE = 88  # characters
HIGH = 20  # of a lane
GAP = 20


def accesses(sheet: Sheet, launch: Launch) -> None:
    """Draw what the first programs and the last one do."""
    chosen = _chosen(launch)
    steps = [[step for step in launch.steps if step.program == program] for program in chosen]
    if not steps:
        sheet.line("no program touched memory", "soft")
    elif len({tuple(map(_what, own)) for own in steps}) == 1:
        sheet.below += 12
        sheet.line("step by step" if len(chosen) > 1 else _named(chosen[0]), "strong", step=21)
        for together in [*zip(*steps, strict=True)][:MOST_STEPS]:
            _access(sheet, launch, together)
        _rest(sheet, len(steps[0]), "accesses of each of them")
    else:
        for own in steps:
            sheet.below += 12
            sheet.line(_named(own[0].program), "strong", step=21)
            for step in own[:MOST_STEPS]:
                _access(sheet, launch, [step])
            _rest(sheet, len(own), "accesses of this program")
    if (rest := len(launch.programs) - len(chosen)) > 0:
        sheet.line(f"… {counted(rest, 'more program')}, between these", "soft")


def _chosen(launch: Launch) -> list[tuple[int, ...]]:
    programs = launch.programs
    if len(programs) <= MOST_PROGRAMS:
        return programs
    return [*programs[: MOST_PROGRAMS - 1], programs[-1]]


def _named(program: tuple[int, ...]) -> str:
    return f"program {program_name(program)}, step by step"


def _rest(sheet: Sheet, count: int, noun: str) -> None:
    if count > MOST_STEPS:
        sheet.line(f"… {count - MOST_STEPS:,} more {noun}", "soft")


def _what(step: Step) -> tuple[object, ...]:
    return step.line, step.inner, step.kind, step.tensor, step.shape


def _access(sheet: Sheet, launch: Launch, steps: Sequence[Step]) -> None:
    """Draw one line of the kernel, and below it the block of each program."""
    step = steps[0]
    by = f"  (in line {step.inner})" if step.inner != step.line else ""
    code = visible_line(launch.code(step.line), MOST_CODE - len(by))
    sheet.line(f"{step.line:4}  {code}{by}", "code", step=8)
    left, top, bottom = LEFT + 38.0, sheet.below, sheet.below
    for step in steps:
        columns, rows, cut = _block(step)
        label = ",".join(map(str, step.program))
        margin = 22 + 7 * len(label) if math.prod(launch.grid) > 1 else 0
        wide = max(margin + columns * SIDE + (14 if cut else 0), 130)
        if left > LEFT + 38 and left + wide > WIDTH - LEFT:
            left, top = LEFT + 38.0, bottom
        if margin:
            sheet.parts.append(text(left, top + 14, f"{label}:", "strong"))
        _lanes(sheet, launch, step, left + margin, top, (columns, rows))
        below = top + rows * HIGH + 15
        if cut:
            place = left + margin + columns * SIDE + 4, top + rows * HIGH - 4
            sheet.parts.append(text(*place, "…", "soft"))
        room = wide + GAP / 2 if len(steps) > 1 else WIDTH - left - margin
        for part in wrapped(_caption(launch, step), room, "small soft"):
            sheet.parts.append(text(left + margin, below, part, "small soft"))
            below += 15
        bottom = max(bottom, below + 5)
        left += wide + GAP
    sheet.below = bottom + 4


def _caption(launch: Launch, step: Step) -> str:
    found = step.elements
    parts: list[str] = []
    if step.tensor is not None:
        tensor = launch.tensors[step.tensor]
        parts.append(elements_in_words(tensor, found) if found else "nothing")
    if len(step.shape) > 1 and step.hidden:
        parts.append(f"of {' x '.join(map(str, step.shape))} lanes")
    if step.hidden:
        parts.append(f"{step.hidden:,} hidden")
    if step.outside:
        parts.append(f"{step.outside:,} OUTSIDE of every tensor")
    return ", ".join(parts)


def _block(step: Step) -> tuple[int, int, bool]:
    """Return the columns and rows of lanes to draw, and whether that leaves some out.

    All that touch something are drawn, and those hidden that stand beside them.
    """
    wide = step.shape[-1] if step.shape else 1
    high = max(step.count // max(wide, 1), 1)
    busy = [number for number, lane in enumerate(step.lanes) if lane != HIDDEN]
    last_row = max((number // wide for number in busy), default=0)
    last_column = max((number % wide for number in busy), default=0)
    columns = min(wide, max(last_column + 2, 4), MOST_LANES)
    rows = min(high, last_row + 2, MOST_ROWS)
    return columns, rows, columns * rows < step.count


def _lanes(
    sheet: Sheet, launch: Launch, step: Step, x: float, y: float, size: tuple[int, int]
) -> None:
    wide = step.shape[-1] if step.shape else 1
    for row in range(size[1]):
        for column in range(size[0]):
            number = row * wide + column
            lane = step.lanes[number] if number < len(step.lanes) else ELSEWHERE
            words, look = "", sheet.hidden()
            if lane >= 0 and step.tensor is not None:
                index = launch.tensors[step.tensor].index(lane)
                words, look = ",".join(map(str, index[-2:])), f'fill="{tint(launch, step.program)}"'
            elif lane != HIDDEN:
                words, look = ("…", 'class="none"') if lane == ELSEWHERE else ("!", OUT)
            place = x + column * SIDE, y + row * HIGH
            sheet.parts.append(cell(*place, words, look, height=HIGH))


OUT = 'class="outside"'
