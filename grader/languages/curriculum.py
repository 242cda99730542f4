"""What labs say in Chinese: titles and hints from ``lab.zh.po``, contracts from their handouts.

A contract is written once, in a row of the handout's tables: the same number in both languages.
"""

import re
from pathlib import Path

from grader.languages.po import read_po

WORDS = "lab.zh.po"
_ROW = re.compile(r"^\| (\d+) \| (.*) \|$", re.MULTILINE)
# As authors have them, and as a course that is published in Chinese has.
_HANDOUTS = (("README.md", "README.zh.md"), ("README.en.md", "README.md"))


def words_of(root: Path) -> dict[str, str]:
    """Return what the labs of a tree say in English, with the Chinese of it."""
    found: dict[str, str] = {}
    for folder in sorted((root / "labs").glob("[0-9][0-9]_*")):
        for english, chinese in _HANDOUTS:
            found |= _contracts(folder / english, folder / chinese)
        found |= read_po(folder / WORDS)
    return found


def _contracts(english: Path, chinese: Path) -> dict[str, str]:
    ours, theirs = _rows(english), _rows(chinese)
    if [number for number, _ in ours] != [number for number, _ in theirs]:
        return {}
    return {said: told for (_, said), (_, told) in zip(ours, theirs, strict=True)}


def _rows(handout: Path) -> list[tuple[str, str]]:
    """Return the numbered rows of a handout, as terminals show them: without marks of code."""
    try:
        text = handout.read_text(encoding="utf-8")
    except OSError:
        return []
    return [(found[1], found[2].replace("`", "")) for found in _ROW.finditer(text)]
