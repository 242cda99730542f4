"""A launch as one SVG: the grid, who touches which element of each tensor, and the accesses."""

import html
import math

from grader.trace.accesses import accesses
from grader.trace.record import Fault, Launch
from grader.trace.sheet import HATCH, STYLE, WIDTH, Sheet
from grader.trace.tensors import grid, tensors
from grader.trace.words import alternative, arguments_of, call_of, fault_in_words


def draw(launch: Launch, *, fault: Fault | None = None, name: str = "t", steps: bool = True) -> str:
    """Return the picture, which holds its alternative text; ``name`` begins its ids.

    Without ``steps`` it ends after the tensors: a page tells the accesses itself.
    """
    sheet = Sheet(name, [])
    if steps:
        sheet.line(call_of(launch), "head", step=21)
        if launch.arguments:
            sheet.line(arguments_of(launch), "soft", step=17)
    grid(sheet, launch)
    tensors(sheet, launch)
    if steps:
        accesses(sheet, launch)
        if fault is not None:
            sheet.below += 6
            sheet.line(f"error: {fault_in_words(fault)}", "bad strong")
    height = math.ceil(sheet.below)
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="trace" viewBox="0 0 {WIDTH} {height}" '
        f'width="{WIDTH}" height="{height}" role="img">'
    )
    title = f"<title>{html.escape(alternative(launch, fault))}</title>"
    parts = [head, title, STYLE, HATCH.format(id=f"{name}hidden"), *sheet.parts, "</svg>"]
    return "\n".join(parts) + "\n"
