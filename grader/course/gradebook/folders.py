"""Folders and file names of what the course writes for people."""

import hashlib
import re
from pathlib import Path

from grader.errors import UsageError
from grader.text import visible_line

LONGEST = 100  # characters of a name made of an id


def plain_name(text: str) -> str:
    """A file name for an id: itself if it is plain, else made so and told apart by a hash.

    Ids that differ in case alone, which some disks take for the same, are on no roster.
    """
    plain = re.sub(r"[^A-Za-z0-9._@+-]|^\.", "_", text)[:LONGEST]
    if plain == text:
        return plain
    return f"{plain}-{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"


def make_folder(folder: Path) -> None:
    """Make a folder and those above it; a file in its place raises ``UsageError``."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        shown = visible_line(str(folder))
        raise UsageError(f"cannot make the folder {shown}: {error.strerror}") from None
