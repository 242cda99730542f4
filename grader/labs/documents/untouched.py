"""What comes back as it was given out is nothing handed in: one answer for all who take work.

Line ends, blanks at the ends of lines, blank lines at the end of a file and a byte order mark are
no work: editors and git write them by themselves.
"""

import codecs
from pathlib import Path

from grader.labs.documents.notebook import pseudocode_title
from grader.labs.lab import Lab


def is_untouched(lab: Lab, code: bytes) -> bool:
    """True for the stub as it was given out."""
    try:
        return _lines(lab.stub.read_bytes()) == _lines(code)
    except OSError:
        return False


def is_nothing(lab: Lab, code: bytes, text: bytes | None) -> bool:
    """True for the untouched stub with a pseudocode, if any, that answers no prompt.

    An answer is a line that does not stand in the prompts as they were given out.
    """
    return is_untouched(lab, code) and (text is None or not _is_answered(lab, text))


def _lines(content: bytes) -> list[bytes]:
    lines = [line.rstrip() for line in content.removeprefix(codecs.BOM_UTF8).splitlines()]
    while lines and not lines[-1]:
        lines.pop()
    return lines


def _is_answered(lab: Lab, text: bytes) -> bool:
    given = {b"", pseudocode_title(lab).encode(), *_stripped(_given(lab.pseudocode))}
    return any(line not in given for line in _stripped(text))


def _stripped(content: bytes) -> list[bytes]:
    return [line.strip() for line in _lines(content)]


def _given(prompts: Path) -> bytes:
    try:
        return prompts.read_bytes()
    except OSError:
        return b""  # a lab that asks for none
