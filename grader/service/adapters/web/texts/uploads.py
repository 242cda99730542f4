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
from grader.labs.documents.untouched import holds_nothing, touched
from grader.labs.lab import ANSWERED, Lab
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
    known = lab.files or (*lab.handed_in, "notebook")
    for part in parts:
        kind = "notebook" if is_notebook(part.name) and not lab.is_manual else part.name
        if kind not in known:
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
    if holds_nothing(lab, files):
        first, *others = lab.needed
        told = "all files are as they were" if others else f"{first} is as it was"
        hint = "save your work, and hand in that file"
        raise BadWork(f"{told} given out: there is nothing to hand in", hint)
    if lab.is_manual:
        own = touched(lab, files)
        notes = [*notes, *(f"{n} is as it was given out" for n in files if n not in own)]
    return files, "\n".join(notes)


def from_form(
    lab: Lab, code: Sequence[Part], pseudocode: Sequence[Part], typed: str, answers: str
) -> list[Part]:
    """Return what a page's form brought: files, else the text of the box.

    Any name will do: what a file is called by the lab is told by its suffix. Of a lab that people
    grade each file comes by its own name.
    """
    if lab.is_manual:
        return [Part(PurePosixPath(part.name).name, part.content) for part in code]
    found = [
        Part(name, part.content)
        for part in (code or _typed(lab.code_name, typed))
        if (name := _name_of(lab, part.name))
    ]
    if len(found) < len(code):
        shown = visible_line(PurePosixPath(code[0].name).name, 80)
        raise BadWork(f"{shown} is neither Python nor a notebook", _wanted(lab))
    pages = [part for part in pseudocode if _is_answered(part.name)] if lab.asks else []
    prompts = [part for part in pseudocode if part not in pages]
    texts = [part.content for part in (prompts or _typed(PSEUDOCODE_NAME, answers))]
    answered = [Part(ANSWERED, part.content) for part in pages]
    return found + [Part(PSEUDOCODE_NAME, text) for text in texts] + answered


def _is_answered(name: str) -> bool:
    """Tell by its name a file with answers to questions, which comes beside the prompts."""
    return PurePosixPath(name).name.casefold() == ANSWERED.casefold()


def _name_of(lab: Lab, name: str) -> str:
    """Return what a file is called by the lab; "" for what is none of its."""
    if is_notebook(name):
        return name
    suffix = PurePosixPath(name).suffix.lower()
    own = (lab.code_name, *lab.sources)
    return next((each for each in own if PurePosixPath(each).suffix == suffix), "")


def _typed(name: str, text: str) -> list[Part]:
    # A browser sends the lines of a text box as the web has them.
    plain = text.replace("\r\n", "\n")
    return [Part(name, plain.encode("utf-8", "replace"))] if plain.strip() else []


def _read(lab: Lab, named: dict[str, bytes]) -> tuple[dict[str, bytes], Sequence[str]]:
    text = named.get(PSEUDOCODE_NAME)
    if "notebook" in named:
        files, notes, _ = files_of_notebook(lab, named["notebook"], text, "the notebook", Budget())
        beside = (*lab.sources, ANSWERED)
        return files | {name: named[name] for name in beside if name in named}, notes
    missing = [name for name in lab.needed if name not in named]
    if missing:
        raise UsageError(f"{', '.join(missing)} is missing", _wanted(lab))
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
    *names, last = lab.given_out
    if lab.is_manual:
        return f"hand in {', '.join(lab.given_out)}"
    return f"hand in {', '.join(names)} and {last}, or one notebook"
