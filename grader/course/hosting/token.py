"""The token that a host is asked with: from the environment or a file, and shown nowhere."""

import os
import stat
from dataclasses import dataclass, field
from pathlib import Path

from grader.course.private import PRIVATE
from grader.errors import UsageError
from grader.text import visible_line

VARIABLE = "INFERLAB_HOST_TOKEN"
MOST_BYTES = 4096
HINT = f"set {VARIABLE}, or name a file of yours alone by --token-file"


@dataclass(frozen=True, slots=True)
class Token:
    """A secret; no text of ours contains it."""

    secret: str = field(repr=False)

    def hidden_in(self, text: str) -> str:
        """Return a text of somebody else's without the secret."""
        return text.replace(self.secret, "[token]")


def read_token(file: Path | None) -> Token:
    """Return the token of a file, or else of the environment; raises UsageError."""
    text = os.environ.get(VARIABLE, "") if file is None else _of_file(file)
    text = text.strip()
    if not text:
        raise UsageError("there is no token for the host", HINT)
    if not (text.isascii() and text.isprintable()) or " " in text:
        raise UsageError("the token is none: it holds blanks, or other than plain letters", HINT)
    return Token(text)


def _of_file(file: Path) -> str:
    shown = visible_line(str(file))
    try:
        mode = file.stat().st_mode
        if not stat.S_ISREG(mode):
            raise UsageError(f"{shown} is no file", HINT)
        if mode & PRIVATE:
            raise UsageError(f"others may read the token in {shown}", f"chmod 600 {shown}")
        with file.open("rb") as handle:
            return handle.read(MOST_BYTES).decode("ascii")
    except OSError as error:
        raise UsageError(f"the token in {shown} cannot be read: {error.strerror}", HINT) from None
    except UnicodeDecodeError:
        raise UsageError(f"{shown} holds no token", HINT) from None
