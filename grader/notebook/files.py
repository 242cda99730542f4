"""The notebook of a lab on the disk: written once, and brought up to date without losing a word."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from grader.errors import UsageError
from grader.files import write_file
from grader.labs.documents.cells import Cell
from grader.labs.documents.notebook import notebook_name, read_cells
from grader.labs.documents.regular import shown
from grader.labs.lab import Lab
from grader.notebook.agreed import Agreed, Changed
from grader.notebook.build import answer_source, build, code_source, written
from grader.notebook.work import ANSWER, Work
from grader.readers import Budget

# Asked where both sides have changed: the part; "c" takes the cell, "f" the file, "" neither.
Ask = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class Done:
    """What became of a notebook, in lines to be shown."""

    file: Path
    lines: tuple[str, ...]


def notebook_file(lab: Lab) -> Path:
    """Return where a lab's notebook lies."""
    return lab.folder / notebook_name(lab)


def write_notebook(lab: Lab, ask: Ask) -> Done:
    """Build the notebook of a lab, or take over into it what has changed in the files.

    Raises ``UsageError`` for one that cannot be read.
    """
    file = notebook_file(lab)
    work = Work(lab).parts()
    if not file.exists():
        write_file(file, written(build(lab, work)))
        Agreed(lab).keep(work)
        return Done(file, (f"wrote {shown(file)}",))
    return _updated(lab, file, work, ask)


def cells_by_part(lab: Lab) -> dict[str, Cell]:
    """Return the cells of the notebook on the disk by the part that they hold; the first counts."""
    file = notebook_file(lab)
    try:
        content = file.read_bytes()
    except OSError:
        return {}
    found = read_cells(content, shown(file), Budget())
    parts = [(cell.task, cell) for cell in found.code]
    parts += [(f"{ANSWER}{cell.task}", cell) for cell in found.answers]
    return dict(reversed(parts))


def take_answers(lab: Lab, ask: Ask) -> tuple[str, ...]:
    """Put the pseudocode of the notebook, as it was saved, into its file; say what was not."""
    work, agreed = Work(lab), Agreed(lab)
    files = work.parts()
    lines: list[str] = []
    for part, cell in cells_by_part(lab).items():
        if not part.startswith(ANSWER) or part not in files:
            continue
        changed = agreed.changed(part, cell.source, files[part])
        if changed is Changed.BOTH and ask(part) == "c":
            changed = Changed.CELL
        if changed is Changed.CELL:
            work.put(part, cell.source)
            agreed.keep({part: cell.source})
        elif changed is not Changed.NEITHER:
            told = "PSEUDOCODE.md has changed since the notebook took it over"
            lines.append(f"{part}: {told}; the file is graded")
    return tuple(lines)


def _updated(lab: Lab, file: Path, work: Mapping[str, str], ask: Ask) -> Done:
    agreed, cells = Agreed(lab), cells_by_part(lab)
    new: dict[int, str] = {}
    lines: list[str] = []
    taken: dict[str, str] = {}
    for part, text in work.items():
        cell = cells.get(part)
        if cell is None:
            lines.append(f"{part}: the notebook has no cell for it")
            continue
        changed = Changed.CELL
        if not cell.problem:
            changed = agreed.changed(part, cell.source, text)
        choice = ask(part) if changed is Changed.BOTH else ""
        if changed is Changed.FILE or choice == "f":
            new[cell.number] = _source(part, text)
            taken[part] = text
            lines.append(f"{part}: taken over from the file")
        elif changed is Changed.BOTH:
            lines.append(f"{part}: cell and file have both changed; neither was touched")
        elif changed is Changed.CELL:
            lines.append(f"{part}: the cell is newer; run it to put it into the file")
        else:
            taken[part] = text
    if new:
        write_file(file, _replaced(file, new))
    agreed.keep(taken)
    return Done(file, tuple(lines))


def _source(part: str, text: str) -> str:
    if part.startswith(ANSWER):
        return answer_source(part.removeprefix(ANSWER), text)
    return code_source(part, text)


def _replaced(file: Path, new: Mapping[int, str]) -> bytes:
    """Return a notebook in which some cells have other texts, and nothing else is changed."""
    data = cast(dict[str, Any], json.loads(file.read_bytes()))
    if data.get("nbformat") != 4:
        raise UsageError(f"{shown(file)} is of an old format", "save it in Jupyter, then try again")
    for number, source in new.items():
        data["cells"][number - 1]["source"] = source.splitlines(keepends=True)
    return (json.dumps(data, indent=1, ensure_ascii=False) + "\n").encode("utf-8")
