"""Regular files of somebody else's tree: each read once, up to a size, without following a link."""

import os
import stat
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from grader.confined import MOST_CODE
from grader.errors import UsageError

MAX_BYTES = MOST_CODE  # per file but a notebook; an honest answer has a hundredth of it
_OPEN_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_OPEN_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


def shown(path: Path | str) -> str:
    """Show a path that others named: control characters are escaped."""
    text = os.fspath(path)
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)


@contextmanager
def open_folder(source: Path, parts: tuple[str, ...]) -> Generator[int, None, None]:
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


def read_regular(folder: int | None, name: str, label: str, most: int = MAX_BYTES) -> bytes | None:
    """Read a regular file without following a link; None if there is none of the name."""
    hint = f"hand in a regular file of at most {most >> 10} KiB"
    if most != MAX_BYTES:
        hint += "; outputs of a notebook can be cleared"
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
        content = file.read(most + 1)
    if len(content) > most:
        raise UsageError(f"{label} is larger than {most >> 10} KiB", hint)
    return content


def _check_regular(status: os.stat_result, label: str, hint: str) -> None:
    if stat.S_ISLNK(status.st_mode):
        raise UsageError(f"{label} is a link", hint)
    if stat.S_ISDIR(status.st_mode):
        raise UsageError(f"{label} is a folder", hint)
    if not stat.S_ISREG(status.st_mode):
        raise UsageError(f"{label} is not a regular file", hint)
