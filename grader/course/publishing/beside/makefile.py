"""The Makefile of a student's tree: some targets of the instructors', in the tree's language."""

import re
from collections.abc import Sequence

from grader.languages.language import labelled, say

TARGET = re.compile(r"^([a-z][a-z-]*):", re.MULTILINE)
# What it tells: the words behind a target, and what a recipe prints.
_HELP = re.compile(r"^([a-z-]+:.*## )(.*)$", re.MULTILINE)
_PRINTED = re.compile(r"""(\becho (["']))(.+?)(\2)""")
_LABELLED = re.compile(r"(error|hint|note): (.*)")


def makefile_of(text: str, targets: Sequence[str]) -> str:
    """Keep the settings and some targets; a target ends at a blank line."""
    kept: list[str] = []
    for block in text.split("\n\n"):
        lines = [line for line in block.splitlines() if not line.startswith("#")]
        names = TARGET.findall("\n".join(lines))
        if not names or names[0] in targets:
            kept.append(_settings(block, targets))
    return _told("\n\n".join(kept).rstrip("\n") + "\n")


def words_of(text: str) -> list[str]:
    """Return what a Makefile tells, without labels."""
    helped = [found[2] for found in _HELP.finditer(text)]
    printed = [found[3] for found in _PRINTED.finditer(text)]
    return [*helped, *(_LABELLED.sub(r"\2", each) for each in printed)]


def _settings(block: str, targets: Sequence[str]) -> str:
    """Name the targets that are there, and install what students need."""
    block = re.sub(r"^\.PHONY:.*$", f".PHONY: {' '.join(targets)}", block, flags=re.MULTILINE)
    return block.replace("-e '.[dev]'", "-e .")


def _told(text: str) -> str:
    text = _HELP.sub(lambda found: found[1] + say(found[2]), text)
    return _PRINTED.sub(lambda found: found[1] + _line(found[3]) + found[4], text)


def _line(text: str) -> str:
    found = _LABELLED.fullmatch(text)
    return labelled(found[1], say(found[2])) if found else say(text)
