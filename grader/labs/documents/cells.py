"""Read a notebook's task cells without running one: JSON in, JSON out, in a process with limits.

A notebook is only data, and may hold anything: megabytes of output, HTML, cells that claim to be
what they are not. Standard library only: ``notebook`` starts this in a process of its own. What is
wrong with one cell costs the task that it is for; only what is no notebook at all is refused.
"""

import ast
import json
import re
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, cast

from grader.confined import MOST_CELLS, MOST_CODE, MOST_SOURCE, confine
from grader.labs.documents.mishaps import conflict_mishap, encoding_mishap

MOST_NOTES = 20
MOST_SHOWN = 60  # characters of a line that a message quotes
TAG, ANSWER_TAG = "task:", "pseudocode:"
_TASK = re.compile(r"%%task(?:[ \t]+(.*))?$")
_ANSWER = re.compile(r"#{1,6}[ \t]+Pseudocode:[ \t]+`?([A-Za-z_]\w*)`?[ \t]*$")
_MAGIC = re.compile(r"\s*(?:[%!?]|[\w\s,.\[\]]+=\s*[%!][\w%!]|[\w.]+\?{1,2}\s*$)")


class NotANotebook(Exception):
    """The file as a whole cannot be read; the message says why."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell that somebody meant for a task; ``problem`` says why it cannot be taken."""

    number: int  # from 1, of all cells
    task: str
    source: str
    problem: str = ""


@dataclass(slots=True)
class Found:
    """What a notebook holds of ours, and remarks on what was left out."""

    code: list[Cell] = field(default_factory=list[Cell])
    answers: list[Cell] = field(default_factory=list[Cell])
    notes: list[str] = field(default_factory=list[str])

    def note(self, text: str) -> None:
        """Keep a remark, of many the first."""
        if len(self.notes) < MOST_NOTES:
            self.notes.append(text)


def main() -> None:
    """Read the bytes of a notebook from standard input; argument: how many cells were checked.

    A line tells what was found, then one for each cell of code what is wrong with it: if a cell
    ends this process, it is known which did, and the next goes on behind it.
    """
    confine()
    try:
        found = read(sys.stdin.buffer.read())
    except NotANotebook as error:
        _say({"refused": str(error)})
        return
    except (RecursionError, MemoryError):
        _say({"refused": "is nested too deeply, or needs too much memory to be read"})
        return
    rows = [
        [[c.number, c.task, c.source, c.problem] for c in g] for g in (found.code, found.answers)
    ]
    _say({"code": rows[0], "answers": rows[1], "notes": found.notes})
    for cell in found.code[int(sys.argv[1]) :]:
        _say(cell.problem or problem_of(cell.source, cell.task))


def _say(data: Any) -> None:
    # ASCII: a lone surrogate goes through as an escape.
    print(json.dumps(data), flush=True)


def read(content: bytes) -> Found:
    """Find the cells that are for a task; raises ``NotANotebook``."""
    found = Found()
    for number, entry in enumerate(_cells(_loaded(content)), 1):
        if isinstance(entry, dict):
            _take(number, cast(dict[str, Any], entry), found)
        else:
            found.note(f"cell {number} is no object, and was left out")
    _assert_small(found)
    return found


def _assert_small(found: Found) -> None:
    """Refuse what the compiler would have to read for minutes."""
    for kind, cells in (("code", found.code), ("pseudocode", found.answers)):
        if len(cells) > MOST_CELLS:
            raise NotANotebook(f"has more than {MOST_CELLS} cells for tasks: keep one for each")
        if sum(len(cell.source) for cell in cells) > MOST_CODE:
            told = f"has more than {MOST_CODE >> 10} KiB of {kind} in its cells for tasks"
            raise NotANotebook(f"{told}: keep one for each")


def _loaded(content: bytes) -> dict[str, Any]:
    if not content.strip():
        raise NotANotebook("is empty")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeError:
        line, told = encoding_mishap(content) or (0, "")
        raise NotANotebook(f"is not UTF-8 text, as notebooks are:{_in(line)} {told}") from None
    try:
        data = json.loads(text)
    except ValueError as error:
        if text.lstrip()[:1] not in "{[":
            raise NotANotebook(
                "is no JSON, so no notebook: is it Python under another name?"
            ) from None
        if conflict := conflict_mishap(text):
            raise NotANotebook(f"is no valid JSON:{_in(conflict[0])} {conflict[1]}") from None
        where = getattr(error, "lineno", 0)
        raise NotANotebook(f"is no valid JSON (line {where}): save the notebook again") from None
    if not isinstance(data, dict):
        raise NotANotebook("is JSON but no object, so no notebook")
    return cast(dict[str, Any], data)


def _in(line: int) -> str:
    return f" line {line}:" if line else ""


def _cells(data: dict[str, Any]) -> list[Any]:
    """Return the cells of nbformat 3 (all worksheets in a row) or 4."""
    major = data.get("nbformat")
    if type(major) is not int:
        raise NotANotebook("names no nbformat, so it is no notebook")
    if major not in (3, 4):
        raise NotANotebook(f"is of nbformat {str(major)[:9]}; 3 and 4 can be read: save it anew")
    sheets = data.get("worksheets") if major == 3 else [data]
    found: list[Any] = []
    for sheet in cast(list[Any], sheets) if isinstance(sheets, list) else [None]:
        cells = cast(dict[str, Any], sheet).get("cells") if isinstance(sheet, dict) else None
        if not isinstance(cells, list):
            raise NotANotebook("has no list of cells, so it is no notebook")
        found += cast(list[Any], cells)
    return found


def _take(number: int, cell: dict[str, Any], found: Found) -> None:
    """Keep a cell if it is for a task, with what is wrong with it."""
    kind = cell.get("cell_type")
    tag, answer_tag = _tagged(cell, TAG), _tagged(cell, ANSWER_TAG)
    source = _source(cell)
    if source is None:
        text = "its source is neither text nor a list of lines"
        if tag:
            found.code.append(Cell(number, tag, "", text))
        elif kind in ("code", "markdown"):
            found.note(f"cell {number}: {text}")
        return
    if kind == "code":
        _take_code(number, source, tag, found)
    elif kind == "markdown" and (answer_tag or _ANSWER.match(_first(source))):
        _take_answer(number, source, answer_tag, found)
    elif tag:
        shown = kind if kind in ("markdown", "raw", "heading") else "other"
        text = f"it is tagged as task {tag}, but is a {shown} cell: make it a code cell"
        found.code.append(Cell(number, tag, "", text))


def _source(cell: dict[str, Any]) -> str | None:
    """Return the text of a cell; nbformat 3 calls that of code its input."""
    value = cell.get("source", cell.get("input"))
    if isinstance(value, list):
        lines = cast(list[Any], value)
        value = "".join(lines) if all(isinstance(line, str) for line in lines) else None
    return value.replace("\r\n", "\n") if isinstance(value, str) else None


def _tagged(cell: dict[str, Any], prefix: str) -> str:
    """Return what stands behind the prefix in a tag of the cell, "" if in none."""
    metadata = cell.get("metadata")
    tags = cast(dict[str, Any], metadata).get("tags") if isinstance(metadata, dict) else None
    for tag in cast(list[Any], tags)[:100] if isinstance(tags, list) else []:
        if isinstance(tag, str) and tag.startswith(prefix):
            return _short(tag.removeprefix(prefix))
    return ""


def _first(source: str) -> str:
    return next((line for line in source.split("\n", 200) if line.strip()), "")


def _take_code(number: int, source: str, tag: str, found: Found) -> None:
    lines = source.split("\n")
    at = next((at for at, line in enumerate(lines) if _TASK.match(line.rstrip())), None)
    if at is None:
        if tag:
            found.code.append(_cell(number, tag, source))
        return
    task = _short((_TASK.match(lines[at].rstrip()) or [""])[1] or "")
    if not task:
        found.note(f"cell {number}: %%task names no task")
        return
    if any(line.strip() for line in lines[:at]):
        text = "%%task must be the first line of its cell"
        found.code.append(Cell(number, task, "", text))
        return
    if tag and tag != task:
        found.note(f"cell {number}: it says %%task {task}, so its tag task:{tag} does not count")
    # Blank lines keep the numbers of lines as the student sees them.
    found.code.append(_cell(number, task, "\n" * (at + 1) + "\n".join(lines[at + 1 :])))


def _cell(number: int, task: str, source: str) -> Cell:
    if len(source) > MOST_SOURCE:
        return Cell(number, task, "", f"it has more than {MOST_SOURCE >> 10} KiB of code")
    return Cell(number, task, source)


def _take_answer(number: int, source: str, tag: str, found: Found) -> None:
    match = _ANSWER.match(_first(source))
    task = match[1].lower() if match else tag
    if len(source) > MOST_SOURCE:
        found.note(f"cell {number}: its pseudocode has more than {MOST_SOURCE >> 10} KiB")
        return
    lines = source.strip("\n").split("\n")
    found.answers.append(Cell(number, task, "\n".join(lines[1:] if match else lines)))


def problem_of(source: str, task: str) -> str:
    """Say why the text of a task cell is no Python that can stand in a file, "" if it can."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source)
            compile(source, "cell", "exec", dont_inherit=True)
    except SyntaxError as error:
        return _told(source, error)
    except (RecursionError, MemoryError):
        return "its code is nested too deeply to be read"
    except (ValueError, SystemError) as error:
        return f"its code cannot be read: {_short(str(error))}"
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module == "__future__" and task != "imports":
            return f"line {node.lineno}: imports from __future__ belong into the cell of imports"
    return ""


def _told(source: str, error: SyntaxError) -> str:
    lines = source.split("\n")
    at = error.lineno or 0
    line = lines[at - 1] if 0 < at <= len(lines) else ""
    if _MAGIC.match(line):
        text = f"line {at}: {_short(line.strip())} is a magic or shell line, not Python"
        return f"{text}: move it to a cell of its own"
    if not at:
        return f"its code cannot be read: {_short(str(error.msg))}"
    return f"line {at}: {type(error).__name__}: {_short(str(error.msg))}"


def _short(text: str) -> str:
    """Return the start of a text on one line, with escapes for what does not print."""
    text = text.strip()
    shown = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text[:MOST_SHOWN])
    return shown + "…" * (len(text) > MOST_SHOWN)


def each(rows: list[Any]) -> Iterator[Cell]:
    """Check the rows of a reply; raises ``TypeError`` or ``ValueError`` for what is none."""
    for row in rows:
        number, task, source, problem = cast(list[Any], row)
        if type(number) is not int or any(
            type(text) is not str for text in (task, source, problem)
        ):
            raise TypeError("a row of the reader of notebooks is none")
        yield Cell(number, task, source, problem)


if __name__ == "__main__":
    main()
