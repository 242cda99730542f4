"""What copydetect compares of code, made in a limited process of its own, by pygments alone.

A lexer is regular expressions, and a text can be made that takes them quadratic time: 32 KiB of
lines with a blank each took 25 s. Those go first, since they do not count; limits end the rest.
The same as ``copydetect.utils.filter_code`` but for ``self`` and ``cls``; its package would import
a plotting library.
"""

import json
import sys
from collections.abc import Sequence
from typing import Any

from pygments import token
from pygments.lexers.python import PythonLexer

_VARIABLES = {token.Name, token.Name.Variable, token.Name.Attribute}
# In this order; what a kind becomes, nothing for what does not count.
_KINDS = (
    (token.Name.Function, "F"),
    (token.Name.Class, "O"),
    (token.Comment.Preproc, "P"),
    (token.Comment.Hashbang, "P"),
    (token.Text, ""),
    (token.Comment, ""),
)


def main() -> None:
    """Read a JSON list of texts from standard input, write what counts of each to the output."""
    texts: list[str] = json.load(sys.stdin)
    json.dump([significant(text) for text in texts], sys.stdout, ensure_ascii=False)


def significant(code: str) -> tuple[str, list[int]]:
    """Return code without layout and comments, with a letter for each name and each string.

    Beside it for each line of the code the place at which what counts of it begins.
    """
    lines = lines_of(code)
    kept = [(number, line) for number, line in enumerate(lines) if line.strip()]
    parts: list[str] = []
    begins, length = [0], 0  # of the lines that are kept
    for kind, value in PythonLexer().get_tokens("\n".join(line for _, line in kept)):
        shown = _shown(kind, value)
        parts.append(shown)
        length += len(shown)
        begins += [length] * value.count("\n")
    starts, at = [0] * len(lines), 0
    for number, (line, _) in enumerate(kept):
        # Blank lines begin where the next one does.
        starts[at : line + 1] = [begins[number]] * (line + 1 - at)
        at = line + 1
    starts[at:] = [length] * (len(lines) - at)
    return "".join(parts), starts


def lines_of(code: str) -> list[str]:
    """Return the lines of code, as they are numbered everywhere here."""
    return code.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def is_significant(reply: object, given: Sequence[str]) -> bool:
    """True if a reply has what counts of each text that was given, and no more."""
    if not isinstance(reply, list) or len(reply) != len(given):
        return False
    return all(_is_part(part, code) for part, code in zip(reply, given, strict=True))


def _is_part(part: Any, code: str) -> bool:
    match part:
        case [str(text), [*starts]]:
            ends = [*starts[1:], len(text)]
            return (
                len(text) <= len(code) + 1
                and len(starts) == len(lines_of(code))
                and all(type(start) is int for start in starts)
                and all(0 <= start <= end for start, end in zip(starts, ends, strict=True))
            )
        case _:
            return False


def _shown(kind: Any, value: str) -> str:
    # Whoever renames ``self``, or writes it with letters that look the same, hides nothing.
    if kind in _VARIABLES or (kind is token.Name.Builtin.Pseudo and value in ("self", "cls")):
        return "V"
    for known, letter in _KINDS:
        if kind in known:
            return letter
    if kind in token.Literal.String:
        return '"' if value in ("'", '"') else "S"
    return value
