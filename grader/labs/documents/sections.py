"""A lab's code file as text in sections: what stands above the first task, then one for each task.

A section begins below its heading (``# --- Task 1: filters ---``), or where there is none at the
first definition of the task; it ends where the next one begins. Text alone decides, so a file with
a mistake in it has sections too.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from grader.labs.lab import PSEUDOCODE, Lab

IMPORTS = "imports"  # stands for what is above the first task: docstring, imports, types
_HEADING = re.compile(r"# --- (?:[Tt]ask \d+: )?([a-z][a-z0-9_]*)\b.*---\s*$")


@dataclass(frozen=True, slots=True)
class Section:
    """Lines ``start`` to ``stop``, from 0, the last one not included; a heading is not in it."""

    task: str
    start: int
    stop: int


def names(lab: Lab) -> tuple[str, ...]:
    """Return the tasks that have code of their own, in the order of the stub, after ``IMPORTS``."""
    return tuple(section.task for section in sections(lab, lab.stub.read_text("utf-8")))


def sections(lab: Lab, text: str) -> tuple[Section, ...]:
    """Return the sections of a file in its order; of a task that has none there is none."""
    lines = text.split("\n")
    starts = _headings(lab, lines)
    starts |= _definitions(lab, lines, {*starts})
    order = sorted(starts.items(), key=lambda item: item[1])
    ends = [_above(lines, at) for _, (at, _) in order] + [len(lines)]
    above = [] if any(task == IMPORTS for task, _ in order) else [Section(IMPORTS, 0, ends[0])]
    return (
        *above,
        *(
            Section(task, first, max(first, end))
            for (task, (_, first)), end in zip(order, ends[1:], strict=True)
        ),
    )


def body(text: str, section: Section) -> str:
    """Return the text of a section without blank lines around it."""
    lines = text.split("\n")[section.start : section.stop]
    while lines and not lines[0].strip():
        lines.pop(0)
    return "\n".join(lines).rstrip()


def bodies(lab: Lab, text: str) -> dict[str, str]:
    """Return the text of each section of a file."""
    return {section.task: body(text, section) for section in sections(lab, text)}


def put(lab: Lab, text: str, new: Mapping[str, str]) -> str:
    """Put new texts in the place of sections; a name that has no section raises ``KeyError``."""
    lines = text.split("\n")
    found = sections(lab, text)
    places = {section.task: section for section in found}
    for name in sorted(new, key=lambda name: places[name].start, reverse=True):
        place = places[name]
        has_heading = place.start > 0 and _named(lab, lines[place.start - 1])
        # As ruff has it: two blank lines around definitions, none at the beginning of the file.
        before = ["", ""] if has_heading else []
        last = place.stop >= len(lines)
        body_lines = new[name].strip("\n").rstrip().split("\n")
        lines[place.start : place.stop] = [*before, *body_lines, *([""] if last else [])]
    return "\n".join(lines)


def other_heading(lab: Lab, name: str, text: str) -> str:
    """Return the other task whose section a line of the text would begin, "" if there is none."""
    found = (_named(lab, line) for line in text.split("\n"))
    return next((task for task in found if task not in ("", name)), "")


def without_heading(lab: Lab, text: str) -> str:
    """Leave out the lines that begin a section."""
    return "\n".join(line for line in text.split("\n") if not _named(lab, line))


def _tasks(lab: Lab) -> Iterable[str]:
    return (task.id for task in lab.tasks if task.id != PSEUDOCODE)


def _named(lab: Lab, line: str) -> str:
    match = _HEADING.match(line)
    return match[1] if match and match[1] in _tasks(lab) else ""


def _headings(lab: Lab, lines: list[str]) -> dict[str, tuple[int, int]]:
    """Return by task where its heading stands, and the first line below it."""
    found: dict[str, tuple[int, int]] = {}
    for at, line in enumerate(lines):
        name = _named(lab, line)
        if name and name not in found:
            found[name] = at, at + 1
    return found


def _definitions(lab: Lab, lines: list[str], known: set[str]) -> dict[str, tuple[int, int]]:
    """Return where the first definition of each other task stands.

    What two tasks name belongs to the first: speed has no code of its own.
    """
    taken: set[str] = set()
    found: dict[str, tuple[int, int]] = {}
    for task in lab.tasks:
        own = [name for name in task.functions if name not in taken]
        taken |= {*own}
        if task.id in known or not own:
            continue
        pattern = re.compile(rf"(?:async def|def|class) (?:{'|'.join(map(re.escape, own))})\b")
        at = next((at for at, line in enumerate(lines) if pattern.match(line)), None)
        if at is not None:
            while at and lines[at - 1].startswith("@"):
                at -= 1
            found[task.id] = at, at
    return found


def _above(lines: list[str], at: int) -> int:
    """Return the line from which on only blank ones stand above a place."""
    while at and not lines[at - 1].strip():
        at -= 1
    return at
