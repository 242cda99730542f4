"""What a request brought, as a lab's files: read by the same rules as a folder or a notebook."""

import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from grader.errors import UsageError
from grader.extras import needs
from grader.labs.documents.notebook import is_notebook
from grader.labs.documents.submission import (
    PSEUDOCODE_NAME,
    collect,
    files_of_notebook,
)
from grader.labs.documents.untouched import is_nothing
from grader.labs.lab import Lab
from grader.readers import Budget
from grader.service.domain.refusals import BadWork
from grader.text import visible_line

with needs("service"):
    from fastapi import UploadFile


@dataclass(frozen=True, slots=True)
class Part:
    """One file as it came; its name is whatever the sender wrote."""

    name: str
    content: bytes


def parts_of(uploads: Iterable[UploadFile]) -> list[Part]:
    """Read uploaded files; those that a form left empty are none."""
    return [
        Part(upload.filename, upload.file.read())
        for upload in uploads
        if upload.filename  # else the field of a form in which nothing was chosen
    ]


def handed_in(lab: Lab, parts: Sequence[Part]) -> tuple[dict[str, bytes], str]:
    """Return the files of a lab that came by their own names, or as a notebook, and a note.

    Raises BadWork in the words in which a folder is refused.
    """
    named: dict[str, bytes] = {}
    for part in parts:
        kind = "notebook" if is_notebook(part.name) else part.name
        if kind not in (lab.code_name, PSEUDOCODE_NAME, "notebook"):
            shown = visible_line(part.name, 80)
            raise BadWork(f"{shown} is no file of lab {lab.number}", _wanted(lab))
        if kind in named:
            raise BadWork(f"there are two files for {kind}", _wanted(lab))
        named[kind] = part.content
    if "notebook" in named and lab.code_name in named:
        raise BadWork(f"there are a notebook and {lab.code_name}", "hand in one of them")
    try:
        files, notes = _read(lab, named)
    except UsageError as error:
        raise BadWork(error.message, error.hint) from None
    if is_nothing(lab, files[lab.code_name], files.get(PSEUDOCODE_NAME)):
        told = f"{lab.code_name} is as it was given out: there is nothing to hand in"
        raise BadWork(told, "save your work, and hand in that file")
    return files, "\n".join(notes)


def from_form(
    lab: Lab, code: Sequence[Part], pseudocode: Sequence[Part], typed: str, answers: str
) -> list[Part]:
    """Return what a page's form brought: a file, else the text of the box; any name will do."""
    found = [
        Part(part.name if is_notebook(part.name) else lab.code_name, part.content)
        for part in (code or _typed(lab.code_name, typed))
        if _is_code(part.name)
    ]
    if len(found) < len(code):
        shown = visible_line(PurePosixPath(code[0].name).name, 80)
        raise BadWork(f"{shown} is neither Python nor a notebook", _wanted(lab))
    texts = [part.content for part in (pseudocode or _typed(PSEUDOCODE_NAME, answers))]
    return found + [Part(PSEUDOCODE_NAME, text) for text in texts]


def _is_code(name: str) -> bool:
    return name.lower().endswith(".py") or is_notebook(name)


def _typed(name: str, text: str) -> list[Part]:
    # A browser sends the lines of a text box as the web has them.
    plain = text.replace("\r\n", "\n")
    return [Part(name, plain.encode("utf-8", "replace"))] if plain.strip() else []


def _read(lab: Lab, named: dict[str, bytes]) -> tuple[dict[str, bytes], Sequence[str]]:
    text = named.get(PSEUDOCODE_NAME)
    if "notebook" in named:
        files, notes, _ = files_of_notebook(lab, named["notebook"], text, "the notebook", Budget())
        return files, notes
    if lab.code_name not in named:
        raise UsageError(f"{lab.code_name} is missing", _wanted(lab))
    with tempfile.TemporaryDirectory(prefix="hand-in-") as name:
        folder = Path(name) / lab.name
        folder.mkdir()
        for each, content in named.items():
            (folder / each).write_bytes(content)
        try:
            taken = collect(lab, folder, Path(name) / "taken", Budget())
        except UsageError as error:
            plain = error.message.replace(f"{folder}/", "")
            raise UsageError(plain, error.hint.replace(f"{folder}/", "")) from None
    return taken.files, taken.notes


def _wanted(lab: Lab) -> str:
    return f"hand in {lab.code_name} and {PSEUDOCODE_NAME}, or one notebook"
