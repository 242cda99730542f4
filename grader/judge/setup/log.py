"""Where the judge says what went wrong on its own side: a file that is the course's alone.

No stream, since those are shown to students in many a CI, and a traceback has lines of a hidden
suite.
"""

import contextlib
import os
import traceback
from datetime import UTC, datetime
from pathlib import Path

from grader.labs.standing import FOLDER

NAME = f"{FOLDER}/judge.log"
MOST_BYTES = 4 << 20  # beyond that it begins anew


def log(root: Path, test: str, error: BaseException) -> None:
    """Add an exception that a test of ours met; where nothing can be written, it is lost."""
    text = "".join(traceback.format_exception(error))
    entry = f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} {test}\n{text}\n"
    file = root / NAME
    with contextlib.suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        fresh = file.exists() and file.stat().st_size > MOST_BYTES
        flags = os.O_WRONLY | os.O_CREAT | (os.O_TRUNC if fresh else os.O_APPEND)
        with open(os.open(file, flags, 0o600), "a", encoding="utf-8", errors="replace") as out:
            out.write(entry)
