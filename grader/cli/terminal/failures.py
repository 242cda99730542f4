"""How a command says that it failed: one line and perhaps a hint; a traceback goes to a file."""

import sys
import tempfile
import time
import traceback
from pathlib import Path

from grader.errors import InferlabError
from grader.labs.lab import find_root
from grader.labs.standing import FOLDER
from grader.languages.language import labelled, say
from grader.text import visible_line


def fail(code: int, message: str, hint: str = "") -> int:
    """Print an error and a hint; returns the code."""
    print(labelled("error", visible_line(say(message), 1000)), file=sys.stderr)
    if hint:
        print(labelled("hint", visible_line(say(hint), 1000)), file=sys.stderr)
    return code


def save_traceback() -> str:
    """Keep the traceback of what is handled; returns where."""
    name = f"error-{time.strftime('%Y%m%d-%H%M%S')}.txt"
    for folder in (
        lambda: find_root() / FOLDER,
        lambda: Path(tempfile.mkdtemp(prefix="inferlab-")),
    ):
        try:
            path = folder() / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(traceback.format_exc(), encoding="utf-8", errors="backslashreplace")
            return str(path)
        except (OSError, InferlabError):
            continue
    return "no file: no folder is writable"
