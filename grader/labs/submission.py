"""What a student hands in: allow-listed files, read once, on a clean tree.

A submission is hostile until shown otherwise. Only regular files are read, without following a
link at any step inside the tree, each up to a size; whatever else lies there is never opened.
What is wrong *inside* the files (syntax, encoding) is no usage error: it is the student's verdict.
"""

import hashlib
import os
import stat
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from grader.errors import UsageError
from grader.labs.lab import Lab

PSEUDOCODE_NAME = "PSEUDOCODE.md"
MAX_BYTES = 1 << 20  # per file; an honest answer has a hundredth of it
_NOT_PYTHON = frozenset({".7z", ".gz", ".ipynb", ".md", ".pdf", ".pyc", ".tar", ".tgz", ".zip"})
_OPEN_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_OPEN_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Submission:
    """A frozen submission: its bytes are in memory, its copy lies alone in ``folder``."""

    files: dict[str, bytes]  # by name; the code always, PSEUDOCODE.md if it was there
    sha256: str  # over names and bytes
    folder: Path
    code_name: str  # "llama.py"
    source: Path  # the folder or file that it was taken from
    single_file: bool  # one Python file and no PSEUDOCODE.md beside it: that cannot be graded

    @property
    def code(self) -> bytes:
        """The bytes of the code file."""
        return self.files[self.code_name]

    @property
    def code_path(self) -> Path:
        """The copy that a worker loads."""
        return self.folder / self.code_name

    @property
    def pseudocode(self) -> bytes | None:
        """The bytes of PSEUDOCODE.md, None if it is absent."""
        return self.files.get(PSEUDOCODE_NAME)

    @property
    def has_pseudocode(self) -> bool:
        """True if PSEUDOCODE.md came along."""
        return PSEUDOCODE_NAME in self.files


def collect(lab: Lab, source: Path | None, into: Path) -> Submission:
    """Copy a submission to ``into``, which must be empty or absent.

    ``source`` is a lab folder, a tree that holds ``NN_topic/`` (also under ``labs/``), or one
    Python file of any name, with the PSEUDOCODE.md that lies beside it, if one does; None is the
    lab's own folder. Raises ``UsageError``.
    """
    source = lab.folder if source is None else source
    try:
        mode = source.stat().st_mode
    except (OSError, ValueError):
        raise UsageError(f"{shown(source)} does not exist", _wanted(lab)) from None
    is_file = not stat.S_ISDIR(mode)
    taken, files = (source, _read_single(lab, source)) if is_file else _read_tree(lab, source)
    single = is_file and PSEUDOCODE_NAME not in files
    _write(into, files)
    return Submission(files, fingerprint(files), into, lab.code_name, taken, single)


def fingerprint(files: dict[str, bytes]) -> str:
    """Hash names and bytes, each with its length, so that no two sets of files collide."""
    digest = hashlib.sha256()
    for name, content in sorted(files.items()):
        digest.update(f"{name}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()


def shown(path: Path | str) -> str:
    """Show a path that others named: control characters are escaped."""
    text = os.fspath(path)
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)


def _wanted(lab: Lab) -> str:
    return f"give a folder with {lab.code_name}, a tree that holds {lab.name}/, or one Python file"


def _read_single(lab: Lab, source: Path) -> dict[str, bytes]:
    if source.suffix.lower() in _NOT_PYTHON:
        raise UsageError(f"{shown(source)} is not a Python file", _wanted(lab))
    content = _read(None, os.fspath(source), shown(source))
    if content is None:
        raise UsageError(f"{shown(source)} does not exist", _wanted(lab))
    beside = source.parent / PSEUDOCODE_NAME
    text = _read(None, os.fspath(beside), shown(beside))
    return {lab.code_name: content} | ({} if text is None else {PSEUDOCODE_NAME: text})


def _read_tree(lab: Lab, source: Path) -> tuple[Path, dict[str, bytes]]:
    # NN_topic/ comes before topic.py: labs/ itself holds a llama.py that is no answer to lab 01.
    for parts in ((lab.name,), ("labs", lab.name)):
        if os.path.lexists(source / parts[0]) and os.path.lexists(source.joinpath(*parts)):
            break
    else:
        parts = ()
    taken = source.joinpath(*parts)
    with _folder(source, parts) as handle:
        code = _read(handle, lab.code_name, shown(taken / lab.code_name))
        if code is None:
            raise UsageError(f"{shown(taken)} has no {lab.code_name}", _wanted(lab))
        files = {lab.code_name: code}
        text = _read(handle, PSEUDOCODE_NAME, shown(taken / PSEUDOCODE_NAME))
    return taken, files if text is None else files | {PSEUDOCODE_NAME: text}


@contextmanager
def _folder(source: Path, parts: tuple[str, ...]) -> Generator[int, None, None]:
    """Open ``source/parts`` one step at a time; only ``source`` itself may be a link."""
    try:
        handle, at = os.open(source, _OPEN_FOLDER), source
    except OSError as error:
        raise UsageError(f"{shown(source)} cannot be opened: {error.strerror}") from None
    try:
        for part in parts:
            at = at / part
            try:
                inner = os.open(part, _OPEN_FOLDER | os.O_NOFOLLOW, dir_fd=handle)
            except OSError:
                raise UsageError(
                    f"{shown(at)} is not a folder",
                    "links are not followed: hand in the folder itself",
                ) from None
            os.close(handle)
            handle = inner
        yield handle
    finally:
        os.close(handle)


def _read(folder: int | None, name: str, label: str) -> bytes | None:
    """Read a regular file without following a link; None if there is none of the name."""
    hint = f"hand in a regular file of at most {MAX_BYTES >> 10} KiB"
    try:
        # Looked at before it is opened: opening a device can have effects of its own.
        _check_regular(os.stat(name, dir_fd=folder, follow_symlinks=False), label, hint)
        handle = os.open(name, _OPEN_FILE, dir_fd=folder)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UsageError(f"{label} cannot be read: {error.strerror}", hint) from None
    try:
        _check_regular(os.fstat(handle), label, hint)  # again: it may have been swapped
    except UsageError:
        os.close(handle)
        raise
    with open(handle, "rb") as file:
        content = file.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise UsageError(f"{label} is larger than {MAX_BYTES >> 10} KiB", hint)
    return content


def _check_regular(status: os.stat_result, label: str, hint: str) -> None:
    if stat.S_ISLNK(status.st_mode):
        raise UsageError(f"{label} is a link", hint)
    if stat.S_ISDIR(status.st_mode):
        raise UsageError(f"{label} is a folder", hint)
    if not stat.S_ISREG(status.st_mode):
        raise UsageError(f"{label} is not a regular file", hint)


def _write(into: Path, files: dict[str, bytes]) -> None:
    into.mkdir(parents=True, exist_ok=True)
    if any(into.iterdir()):
        raise ValueError(f"{into} is not empty")
    into.chmod(0o755)  # the worker may run as another user
    for name, content in files.items():
        path = into / name
        path.write_bytes(content)
        path.chmod(0o644)
