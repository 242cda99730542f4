"""What a student hands in: allow-listed files, read once, on a clean tree.

A submission is hostile until shown otherwise. Only regular files are read, without following a
link at any step inside the tree, each up to a size; whatever else lies there is never opened.
What is wrong *inside* the files (syntax, encoding) is no usage error: it is the student's verdict.
"""

import hashlib
import itertools
import os
import stat
from dataclasses import dataclass, replace
from pathlib import Path

from grader.errors import UsageError
from grader.labs.documents import notebook
from grader.labs.documents.places import Place
from grader.labs.documents.regular import MAX_BYTES, open_folder, read_regular, shown
from grader.labs.documents.untouched import is_untouched
from grader.labs.lab import ANSWERED, Lab
from grader.readers import Budget

PSEUDOCODE_NAME = "PSEUDOCODE.md"
MOST_LISTED = 10_000  # entries of a folder that are looked at for a notebook
_NOT_PYTHON = frozenset({".7z", ".gz", ".md", ".pdf", ".pyc", ".tar", ".tgz", ".zip"})


@dataclass(frozen=True, slots=True)
class Submission:
    """A frozen submission: its bytes are in memory, its copy lies alone in ``folder``."""

    files: dict[str, bytes]  # by name; the code of a lab that is judged, the rest if it was there
    sha256: str  # over names and bytes
    folder: Path
    code_name: str  # "llama.py"
    source: Path  # the folder or file that it was taken from
    single_file: bool  # one file of code and no pseudocode with it: that cannot be graded
    notes: tuple[str, ...] = ()  # of a notebook: what was left out of it
    is_notebook: bool = False
    places: tuple[Place, ...] = ()  # of a notebook: where its cells stand in the code

    @property
    def code(self) -> bytes:
        """The bytes of the code file."""
        return self.files[self.code_name]

    @property
    def text(self) -> str:
        """The code as text, without the byte order mark that some editors begin a file with."""
        return self.code.decode("utf-8-sig", errors="replace")

    @property
    def code_path(self) -> Path:
        """The copy that a worker loads."""
        return self.folder / self.code_name

    @property
    def pseudocode(self) -> bytes | None:
        """The bytes of PSEUDOCODE.md, None if it is absent."""
        return self.files.get(PSEUDOCODE_NAME)

    @property
    def answers(self) -> bytes | None:
        """The bytes of QUESTIONS.md, None if it is absent."""
        return self.files.get(ANSWERED)

    @property
    def has_pseudocode(self) -> bool:
        """True if PSEUDOCODE.md came along."""
        return PSEUDOCODE_NAME in self.files


def collect(lab: Lab, source: Path | None, into: Path, budget: Budget | None = None) -> Submission:
    """Copy a submission to ``into``, which must be empty or absent; ``budget``: to read it.

    ``source`` is a lab folder, a tree that holds ``NN_topic/`` (also under ``labs/``), or one
    Python file or notebook of any name, with what lies beside it: PSEUDOCODE.md, and sources for
    compilers under its own name; None is the lab's own folder. In a folder a notebook counts if
    there is no code file, or one that nobody has touched. Of a lab that people grade, what is
    there of its files. Raises ``UsageError``.
    """
    source = lab.folder if source is None else source
    try:
        mode = source.stat().st_mode
    except (OSError, ValueError):
        raise UsageError(f"{shown(source)} does not exist", _wanted(lab)) from None
    is_file, budget = not stat.S_ISDIR(mode), budget or Budget()
    if is_file:
        taken, found = source, _read_single(lab, source, budget)
    else:
        taken, found = _read_tree(lab, source, budget)
    files, notes = found.files, found.notes
    single = PSEUDOCODE_NAME not in files and (is_file or found.is_notebook)
    _write(into, files)
    kept = lab.code_name, taken, single, notes, found.is_notebook, found.places
    return Submission(files, fingerprint(files), into, *kept)


def fingerprint(files: dict[str, bytes]) -> str:
    """Hash names and bytes, each with its length, so that no two sets of files collide."""
    digest = hashlib.sha256()
    for name, content in sorted(files.items()):
        digest.update(f"{name}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()


def files_of_notebook(
    lab: Lab, content: bytes, text: bytes | None, label: str, budget: Budget
) -> tuple[dict[str, bytes], tuple[str, ...], tuple[Place, ...]]:
    """Return the files that a notebook stands for, remarks, and where its cells went.

    ``text`` lay beside it.

    Raises ``UsageError``.
    """
    found = notebook.convert(lab, content, label, budget)
    if len(found.code) > MAX_BYTES:
        raise UsageError(f"{label} has more than {MAX_BYTES >> 10} KiB of code")
    text = text if found.pseudocode is None else found.pseudocode
    return _named(lab, found.code, text), found.notes, found.places


@dataclass(frozen=True, slots=True)
class _Read:
    """What was read from a place."""

    files: dict[str, bytes]
    notes: tuple[str, ...] = ()
    places: tuple[Place, ...] = ()
    is_notebook: bool = False

    def beside(self, sources: dict[str, bytes]) -> "_Read":
        """Return it with what lay beside it."""
        return replace(self, files=self.files | sources)


def _wanted(lab: Lab) -> str:
    if lab.is_manual:
        return f"give a folder with {', '.join(lab.files)}, or a tree that holds {lab.name}/"
    places = f"give a folder with {lab.code_name}, a tree that holds {lab.name}/"
    return f"{places}, or one Python file or notebook"


def _named(lab: Lab, code: bytes, text: bytes | None) -> dict[str, bytes]:
    return {lab.code_name: code} | ({} if text is None else {PSEUDOCODE_NAME: text})


def _read_single(lab: Lab, source: Path, budget: Budget) -> _Read:
    if lab.is_manual:
        raise UsageError(f"{shown(source)} is no folder", _wanted(lab))
    if source.suffix.lower() in _NOT_PYTHON:
        raise UsageError(f"{shown(source)} is not a Python file", _wanted(lab))
    sources = _beside(lab, None, source.with_suffix(""))
    is_notebook = notebook.is_notebook(source.name)
    most = notebook.MAX_BYTES if is_notebook else MAX_BYTES
    content = read_regular(None, os.fspath(source), shown(source), most)
    if content is None:
        raise UsageError(f"{shown(source)} does not exist", _wanted(lab))
    beside = source.parent / PSEUDOCODE_NAME
    text = read_regular(None, os.fspath(beside), shown(beside))
    if is_notebook:
        found = files_of_notebook(lab, content, text, shown(source), budget)
        return _Read(*found, is_notebook=True).beside(sources)
    return _Read(_named(lab, content, text) | sources)


def _beside(lab: Lab, folder: int | None, start: Path) -> dict[str, bytes]:
    """Read what lies beside the code: for compilers, called ``start`` and a suffix, and answers."""
    found: dict[str, bytes] = {}
    for name in lab.sources:
        path = start.with_name(f"{start.name}{Path(name).suffix}")
        at = os.fspath(path) if folder is None else path.name
        content = read_regular(folder, at, shown(path))
        if content is not None:
            found[name] = content
    page = start.with_name(ANSWERED)
    at = os.fspath(page) if folder is None else ANSWERED
    content = read_regular(folder, at, shown(page)) if lab.asks else None
    return found if content is None else found | {ANSWERED: content}


def _read_tree(lab: Lab, source: Path, budget: Budget) -> tuple[Path, _Read]:
    # NN_topic/ comes before topic.py: labs/ itself holds a llama.py that is no answer to lab 01.
    for parts in ((lab.name,), ("labs", lab.name)):
        if os.path.lexists(source / parts[0]) and os.path.lexists(source.joinpath(*parts)):
            break
    else:
        parts = ()
    taken = source.joinpath(*parts)
    with open_folder(source, parts) as handle:
        if lab.is_manual:
            return taken, _Read(_read_named(lab, handle, taken))
        code = read_regular(handle, lab.code_name, shown(taken / lab.code_name))
        text = read_regular(handle, PSEUDOCODE_NAME, shown(taken / PSEUDOCODE_NAME))
        sources = _beside(lab, handle, taken / lab.topic)
        # The lab's own folder has the stub and, while it is worked on, a notebook that writes it.
        if code is None or (taken != lab.folder and is_untouched(lab, code)):
            found = _read_notebook(lab, handle, taken, text, code is None, budget)
            if found is not None:
                return taken, found.beside(sources)
        if code is None:
            raise UsageError(f"{shown(taken)} has no {lab.code_name}", _wanted(lab))
    return taken, _Read(_named(lab, code, text) | sources)


def _read_named(lab: Lab, folder: int, at: Path) -> dict[str, bytes]:
    """Read those of a manual lab's files that are in a folder; raises UsageError if none is."""
    found = {name: read_regular(folder, name, shown(at / name)) for name in lab.files}
    if not any(content is not None for content in found.values()):
        raise UsageError(f"{shown(at)} has none of {', '.join(lab.files)}", _wanted(lab))
    return {name: content for name, content in found.items() if content is not None}


def _read_notebook(
    lab: Lab, folder: int, at: Path, text: bytes | None, needed: bool, budget: Budget
) -> _Read | None:
    """Read the lab's notebook, or the only one in a folder; None without, or if it is of no use."""
    with os.scandir(folder) as entries:
        listed = itertools.islice(entries, MOST_LISTED)
        names = sorted(entry.name for entry in listed if notebook.is_notebook(entry.name))
    own = notebook.notebook_name(lab)
    names = [own] if own in names else names
    if len(names) > 1 and needed:
        told = f"{shown(at)} has {len(names)} notebooks, and none is called {own}"
        raise UsageError(told, "hand in one of them")
    if len(names) != 1:
        return None
    label = shown(at / names[0])
    try:
        content = read_regular(folder, names[0], label, notebook.MAX_BYTES)
        found = files_of_notebook(lab, content or b"", text, label, budget)
    except UsageError:
        if needed:
            raise
        return None  # the stub beside it can be graded
    return _Read(*found, is_notebook=True)


def _write(into: Path, files: dict[str, bytes]) -> None:
    into.mkdir(parents=True, exist_ok=True)
    if any(into.iterdir()):
        raise ValueError(f"{into} is not empty")
    into.chmod(0o755)  # the worker may run as another user
    for name, content in files.items():
        path = into / name
        path.write_bytes(content)
        path.chmod(0o644)
