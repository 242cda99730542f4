"""What copydetect compares of code, made in a limited process of its own, by pygments alone.

A lexer is regular expressions, and a text can be made that takes them quadratic time: 32 KiB of
lines with a blank each took 25 s. Those go first, since they do not count; limits end the rest.
The same as ``copydetect.utils.filter_code``, whose package would import a plotting library.
"""

import json
import re
import sys
from collections.abc import Sequence
from typing import Any

from pygments import token
from pygments.lexers.python import PythonLexer

_BLANK = re.compile(r"(?:\A|\n)\s*\n")
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


def significant(code: str) -> str:
    """Return code without layout and comments, with a letter for each name and each string."""
    text = _BLANK.sub("\n", code.replace("\r\n", "\n").replace("\r", "\n"))
    return "".join(_shown(kind, value) for kind, value in PythonLexer().get_tokens(text))


def is_significant(texts: object, given: Sequence[str]) -> bool:
    """True if a reply has what counts of each text that was given, and no more."""
    if not isinstance(texts, list) or len(texts) != len(given):
        return False
    pairs = zip(texts, given, strict=True)
    return all(type(text) is str and len(text) <= len(code) + 1 for text, code in pairs)


def _shown(kind: Any, value: str) -> str:
    if kind in _VARIABLES:
        return "V"
    for known, letter in _KINDS:
        if kind in known:
            return letter
    if kind in token.Literal.String:
        return '"' if value in ("'", '"') else "S"
    return value
