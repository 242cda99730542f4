"""Whether a translated stub is the English one: only docstrings and comments differ.

Its first line names the hash of the English file, which no student gets to see.
"""

import ast
import hashlib
import re

from grader.labs.translations.pages import STALE, UNMARKED, Problem
from grader.labs.translations.sections import DIGITS

_MARK = re.compile(r"\A(?:#|//) en: (\S+)\n")  # in Python, in C++


def problems(english: str, chinese: str) -> list[Problem]:
    """Return what is stale or different in a translated stub."""
    try:
        same = _bare(english) == _bare(chinese)
    except (SyntaxError, ValueError) as error:
        return [Problem("", f"is no Python: {error}")]
    return problems_of(english, chinese, same=same)


def problems_of(english: str, chinese: str, *, same: bool) -> list[Problem]:
    """Return what is stale in a translation, and that its code is not the ``same``."""
    found = _MARK.match(chinese)
    says = [UNMARKED] if not found else [STALE] if found[1] != digest_of(english) else []
    says += [] if same else ["its code is not that of the English stub"]
    return [Problem("", text) for text in says]


def stamped(english: str, chinese: str) -> str:
    """Return the translated stub with the hash of the English one; the code is not looked at."""
    return f"# en: {digest_of(english)}\n{told(chinese)}"


def told(chinese: str) -> str:
    """Return the stub as students get it, without the hash."""
    return _MARK.sub("", chinese)


def digest_of(english: str) -> str:
    """Return the hash by which a translation names its English."""
    text = "\n".join(line.rstrip() for line in english.split("\n")).strip("\n")
    return hashlib.sha256(text.encode()).hexdigest()[:DIGITS]


def _bare(code: str) -> str:
    """Return the tree of a file as text, without docstrings."""
    tree = ast.parse(code)
    for node in ast.walk(tree):
        holds = isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        if holds and ast.get_docstring(node, clean=False) is not None:
            node.body[0] = ast.Pass()
    return ast.dump(tree)
