"""A notebook handed in alone becomes the lab's code file and PSEUDOCODE.md; no cell is executed.

What is wrong with a cell costs its task: its functions raise what is wrong with the cell, where the
stub's would raise that they are not written. Sections without a cell are the stub's own.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from grader.confined import MOST_TRIES, TOO_SLOW
from grader.errors import JudgeError, UsageError
from grader.labs.documents.cells import Cell, each
from grader.labs.documents.places import Place, first_line, places_of
from grader.labs.documents.sections import IMPORTS, bodies, put, sections
from grader.labs.lab import PSEUDOCODE, Lab
from grader.limited import Ended, Resource
from grader.readers import Budget
from grader.text import visible_line

SUFFIX = ".ipynb"
MAX_BYTES = 64 << 20  # outputs and all: without them an honest one has a thousandth of it
PROMPT_HEADING = "### Pseudocode: "  # the first line of a Markdown cell that answers a prompt
READER = "grader.labs.documents.cells"
_UNWRITTEN = re.compile(r"raise NotImplementedError\([^()\n]*\)")
_CLEAR = "clear all outputs and save the notebook"
_HINT = "save the notebook again, or hand in the Python file"
_MOST_REFUSED = 600  # characters
_TOO_MUCH = "is too large or too deeply nested to be read"
_TOO_DEEP = "its code is nested too deeply to be read"
_SMALLER = "make the code of this cell shorter and plainer"


@dataclass(frozen=True, slots=True)
class Converted:
    """What a notebook stands for; ``notes`` are remarks on what was left out of it."""

    code: bytes
    pseudocode: bytes | None  # None: no cell answers a prompt
    notes: tuple[str, ...]
    places: tuple[Place, ...] = ()


@dataclass(frozen=True, slots=True)
class Cells:
    """The cells of a notebook that are for some task, as they came."""

    code: tuple[Cell, ...]
    answers: tuple[Cell, ...]
    notes: tuple[str, ...]


def notebook_name(lab: Lab) -> str:
    """Return the file name of a lab's notebook."""
    return f"{lab.topic}{SUFFIX}"


def pseudocode_title(lab: Lab) -> str:
    """Return the first line of the pseudocode that a notebook stands for."""
    return f"# Pseudocode for lab {lab.number:02d}"


def is_notebook(name: str) -> bool:
    """Tell by the name of a file whether it is meant to be a notebook."""
    return name.lower().endswith(SUFFIX)


def convert(lab: Lab, content: bytes, label: str, budget: Budget) -> Converted:
    """Turn a notebook into the lab's files; raises ``UsageError`` if it is none of this lab."""
    cells = read_cells(content, label, budget)
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
    taken: dict[str, tuple[str, int]] = {}  # cells, and the lines on which their code begins
    gone: list[str] = []
    for name in known:
        same = [cell for cell in cells.code if cell.task == name]
        if not same and name != IMPORTS:
            gone.append(f"no cell begins with %%task {name}: the task counts as not written")
        text, problem = _choose(name, same, notes)
        if text is not None:
            taken[name] = str(same[0].number), first_line(same[0].source)
        if name == IMPORTS:
            notes += [f"{problem}; the stub's imports stand in for it"] if problem else []
            texts[name] = own[name] if text is None else text
        else:
            texts[name] = _raising(lab, name, own[name], problem) if text is None else text
    code = put(lab, stub, texts)
    return Converted(
        code.encode("utf-8", "replace"),
        _pseudocode(lab, cells.answers),
        tuple(map(visible_line, [*notes, *gone])),
        places_of(lab, code, taken),
    )


def read_cells(content: bytes, label: str, budget: Budget) -> Cells:
    """Find the cells for tasks, by a reader; raises ``UsageError`` if there is no way.

    A cell that ends the reader costs its task, and what comes behind it is read by another, until
    there were ``MOST_TRIES``; what takes all the time of the submission leaves none for more.
    """
    problems: list[str] = []
    tried, found = 0, None
    while found is None or len(problems) < len(found.code):
        tried += 1
        ended = budget.run(READER, content, str(len(problems)))
        found, more = _heard(ended, label)
        problems += more
        if len(problems) >= len(found.code):
            break
        at = found.code[len(problems)]
        late = ended.over is Resource.CPU
        problems.append(f"its code {TOO_SLOW}: {_SMALLER}" if late else _TOO_DEEP)
        if late or tried == MOST_TRIES:
            left = len(found.code) - len(problems)
            problems += [f"it was not read, since cell {at.number} ended the reading"] * left
    # Of what is wrong the text is of no use.
    code = (
        replace(cell, source="", problem=problem) if problem else cell
        for cell, problem in zip(found.code, problems, strict=True)
    )
    return replace(found, code=tuple(code))


def _heard(ended: Ended, label: str) -> tuple[Cells, list[str]]:
    """Return what a reader found, and what is wrong with each cell that it got to."""
    lines = ended.output.split(b"\n")[:-1]  # without one that was cut
    if not lines:
        if ended.over is Resource.CPU:
            raise UsageError(f"{label} {TOO_SLOW}", _CLEAR)
        if ended.status < 0 or ended.over is not None:
            raise UsageError(f"{label} {_TOO_MUCH}", _CLEAR)
    try:
        if not lines:
            raise ValueError(ended.told[-400:].decode("utf-8", "replace"))
        reply = cast(dict[str, Any], json.loads(lines[0]))
        if "refused" in reply:
            raise UsageError(f"{label} {visible_line(str(reply['refused']), _MOST_REFUSED)}", _HINT)
        notes = tuple(str(note) for note in cast(list[Any], reply["notes"]))
        found = Cells(tuple(each(reply["code"])), tuple(each(reply["answers"])), notes)
        return found, [str(json.loads(line)) for line in lines[1:]]
    except (ValueError, TypeError, KeyError, IndexError) as error:
        raise JudgeError(f"the reader of notebooks failed: {error}") from None


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
    parts = [pseudocode_title(lab)]
    for task in lab.tasks:
        texts = [cell.source.strip("\n") for cell in answers if cell.task == task.id]
        parts += [f"## {task.id}", *texts] if texts else []
    return ("\n\n".join(parts) + "\n").encode("utf-8", "replace")
