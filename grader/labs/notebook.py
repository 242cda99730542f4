"""A notebook handed in alone becomes the lab's code file and PSEUDOCODE.md; no cell is executed.

What is wrong with a cell costs its task: its functions raise what is wrong with the cell, where the
stub's would raise that they are not written. Sections without a cell are the stub's own.
"""

import json
import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, cast

from grader import ROOT
from grader.environment import To, crossing
from grader.errors import JudgeError, UsageError
from grader.labs.cells import Cell, each
from grader.labs.lab import PSEUDOCODE, Lab
from grader.labs.sections import IMPORTS, bodies, put, sections
from grader.limited import Ended, Limits, Resource, run
from grader.text import visible_line

SUFFIX = ".ipynb"
MAX_BYTES = 64 << 20  # outputs and all: without them an honest one has a thousandth of it
PROMPT_HEADING = "### Pseudocode: "  # the first line of a Markdown cell that answers a prompt
WALL_SECONDS = 90.0  # the reader limits its own processor time far below this
MAX_REPLY = 64 << 20
_PYTHON = sys.executable  # as it was at first: in a kernel a student may change it
_BOOT = f"import sys; sys.path.append({str(ROOT)!r}); from grader.labs.cells import main; main()"
_UNWRITTEN = re.compile(r"raise NotImplementedError\([^()\n]*\)")
_HINT = "save the notebook again, or hand in the Python file"
_MOST_REFUSED = 600  # characters
_TOO_MUCH = "is too large or too deeply nested to be read"


@dataclass(frozen=True, slots=True)
class Converted:
    """What a notebook stands for; ``notes`` are remarks on what was left out of it."""

    code: bytes
    pseudocode: bytes | None  # None: no cell answers a prompt
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Cells:
    """The cells of a notebook that are for some task, as they came."""

    code: tuple[Cell, ...]
    answers: tuple[Cell, ...]
    notes: tuple[str, ...]


def notebook_name(lab: Lab) -> str:
    """Return the file name of a lab's notebook."""
    return f"{lab.topic}{SUFFIX}"


def is_notebook(name: str) -> bool:
    """Tell by the name of a file whether it is meant to be a notebook."""
    return name.lower().endswith(SUFFIX)


def convert(lab: Lab, content: bytes, label: str) -> Converted:
    """Turn a notebook into the lab's files; raises ``UsageError`` if it is none of this lab."""
    cells = read_cells(content, label)
    stub = lab.stub.read_text(encoding="utf-8")
    known = {section.task for section in sections(lab, stub)}
    notes = [*cells.notes, *_unknown(lab, cells, known)]
    if not any(cell.task in known for cell in cells.code):
        first = next((name for name in known if name != IMPORTS), IMPORTS)
        told = f"; {notes[0]}" if notes else ""
        hint = f"the cell of a task begins with a line like %%task {first}"
        raise UsageError(f"{label} has no cell for a task of lab {lab.number}{told}", hint)
    own = bodies(lab, stub)
    texts: dict[str, str] = {}
    for name in known:
        text, problem = _choose(name, [cell for cell in cells.code if cell.task == name], notes)
        if name == IMPORTS:
            notes += [f"{problem}; the stub's imports stand in for it"] if problem else []
            texts[name] = own[name] if text is None else text
        else:
            texts[name] = _raising(lab, name, own[name], problem) if text is None else text
    code = put(lab, stub, texts).encode("utf-8", "replace")
    return Converted(code, _pseudocode(lab, cells.answers), tuple(map(visible_line, notes)))


def read_cells(content: bytes, label: str) -> Cells:
    """Find the cells for tasks, in a limited process; raises ``UsageError`` if there is no way."""
    skipped: list[int] = []
    while True:
        ended = _run(content, skipped)
        lines = ended.output.splitlines()
        if ended.status == 0:
            break
        last = _at(lines)
        if last is None or last in skipped:
            raise UsageError(f"{label} {_TOO_MUCH}", "clear all outputs and save the notebook")
        skipped.append(last)
    try:
        reply = cast(dict[str, Any], json.loads(lines[-1]))
        if "refused" in reply:
            raise UsageError(f"{label} {visible_line(str(reply['refused']), _MOST_REFUSED)}", _HINT)
        notes = tuple(str(note) for note in cast(list[Any], reply["notes"]))
        return Cells(tuple(each(reply["code"])), tuple(each(reply["answers"])), notes)
    except (ValueError, TypeError, KeyError, IndexError) as error:
        raise JudgeError(f"the reader of notebooks failed: {error}") from None


def _run(content: bytes, skipped: Iterable[int]) -> Ended:
    line = [_PYTHON, "-I", "-S", "-B", "-X", "utf8", "-c", _BOOT, *map(str, skipped)]
    env = crossing(To.READER)
    try:
        done = run(line, Limits(seconds=WALL_SECONDS, output=MAX_REPLY), stdin=content, env=env)
    except OSError as error:
        raise JudgeError(f"the reader of notebooks cannot start: {error}") from None
    if done.over is Resource.TIME:
        raise JudgeError("reading the notebook took too long on this machine")
    return done


def _at(lines: Sequence[bytes]) -> int | None:
    """Return the cell that was being read when the reader ended; None if there was none."""
    try:
        reply = json.loads(lines[-1])
        return int(reply["at"])
    except (ValueError, TypeError, KeyError, IndexError):
        return None


def _unknown(lab: Lab, cells: Cells, known: set[str]) -> list[str]:
    """Name the cells that are for no task of the lab's code."""
    tasks = {task.id for task in lab.tasks if task.id != PSEUDOCODE}
    found = [
        f"cell {cell.number}: lab {lab.number} has no task {cell.task} to write code for"
        for cell in cells.code
        if cell.task not in known
    ]
    return found + [
        f"cell {cell.number}: lab {lab.number} asks for no pseudocode for {cell.task}"
        for cell in cells.answers
        if cell.task not in tasks
    ]


def _choose(name: str, cells: Sequence[Cell], notes: Sequence[str]) -> tuple[str | None, str]:
    """Return the text of a task, or None and what is wrong; no problem: the stub's will do."""
    if not cells:
        if name == IMPORTS:
            return None, ""
        more = f" ({notes[0]})" if notes else ""
        return None, f"the notebook has no cell that begins with %%task {name}{more}"
    for cell in cells:
        if cell.problem:
            return None, f"cell {cell.number} of the notebook: {cell.problem}"
    texts = {cell.source.strip() for cell in cells}
    if len(texts) > 1:
        numbers = " and ".join(str(cell.number) for cell in cells[:5])
        return None, f"cells {numbers} of the notebook are all for {name}: keep one of them"
    return cells[0].source.strip("\n"), ""


def _raising(lab: Lab, name: str, stub: str, problem: str) -> str:
    """Return a stub's section whose functions say what is wrong with their cell."""
    error = f"raise SyntaxError({visible_line(problem)!r})"
    text, count = _UNWRITTEN.subn(lambda _: error, stub)
    if count:
        return text
    # In a student's tree the lab's own file is their work.
    functions = lab.task(name).functions
    return "\n\n\n".join(f"def {item}(*_, **__):\n    {error}" for item in functions)


def _pseudocode(lab: Lab, answers: Sequence[Cell]) -> bytes | None:
    if not answers:
        return None
    parts = [f"# Pseudocode for lab {lab.number:02d}"]
    for task in lab.tasks:
        texts = [cell.source.strip("\n") for cell in answers if cell.task == task.id]
        parts += [f"## {task.id}", *texts] if texts else []
    return ("\n\n".join(parts) + "\n").encode("utf-8", "replace")
