"""Write a file so that nobody ever reads half of it."""

import json
import os
import secrets
import stat
import tempfile
from collections.abc import Mapping
from pathlib import Path

from grader.errors import UsageError
from grader.text import encodable, visible_line


def json_bytes(data: Mapping[str, object]) -> bytes:
    """JSON for a file or a pipe, whatever text a submission wrote into it."""
    # ASCII only, so that a terminal that shows it interprets nothing.
    return (json.dumps(encodable(dict(data)), indent=2, allow_nan=False) + "\n").encode("ascii")


def check_writable(target: str) -> None:
    """Raise ``UsageError`` unless ``target`` can be created or replaced now."""
    shown = visible_line(target)
    if not target or "\0" in target:
        raise UsageError(f"cannot write to {shown!r}", "give a file name, or - for the screen")
    path = Path(os.path.realpath(target))
    if path.is_dir():
        raise UsageError(f"cannot write {shown}: it is a folder", "give a file name")
    if not path.parent.is_dir():
        raise UsageError(f"cannot write {shown}: no folder {visible_line(str(path.parent))}")
    try:
        if _is_special(path):
            path.open("ab").close()
        else:
            # Trying is the only sound test: access bits say nothing about read-only mounts.
            tempfile.TemporaryFile(dir=path.parent).close()
    except OSError as error:
        raise UsageError(f"cannot write {shown}: {error.strerror}") from None


def write_file(path: Path, data: bytes) -> None:
    """Replace ``path`` by ``data`` in one step, through links, with the usual permissions."""
    target = Path(os.path.realpath(path))
    try:
        if _is_special(target):
            target.write_bytes(data)  # /dev/null, a pipe: never to be replaced by a file
        else:
            _replace(target, data)
    except OSError as error:
        raise UsageError(f"cannot write {visible_line(str(path))}: {error.strerror}") from None


def _is_special(path: Path) -> bool:
    try:
        return not stat.S_ISREG(path.stat().st_mode)
    except FileNotFoundError:
        return False


def _replace(target: Path, data: bytes) -> None:
    # Not mkstemp: its files are private, and a report has the permissions of any new file.
    part = target.with_name(f".{target.name[:40]}.{secrets.token_hex(6)}")
    try:
        with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666), "wb") as file:
            file.write(data)
        part.replace(target)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
