"""Words that a lab forbids in sources for a compiler, such as C++.

This polices, as the rules on Python do: macros can write any word. Comments and strings are left
out first, so that to speak of a function is not to call it. Every pattern here takes linear time.
"""

import fnmatch
import re

from grader.labs.build import Build, SourceRule

_SPLICE = re.compile(r"\\\r?\n")
# Each alternative ends at the latest where the text does: none is tried twice on the same text.
_UNSAID = re.compile(
    r"//[^\n]*|/\*.*?(?:\*/|\Z)"
    r"|\"(?:\\.|[^\"\\\n])*\"?|(?<!\w)'(?:\\.|[^'\\\n])*'?",
    re.DOTALL,
)
_WORD = re.compile(r"[A-Za-z_]\w*")
_SHOWN = 5


def violations(build: Build, sources: dict[str, bytes]) -> list[str]:
    """Say which words of a build's sources its rules forbid, file by file."""
    found: list[str] = []
    for name in build.sources:
        text = sources.get(name, b"").decode("utf-8", errors="replace")
        for number, line in enumerate(_said(text).split("\n"), 1):
            for word in _WORD.findall(line):
                rule = _broken(build, word)
                if rule is not None:
                    found.append(f"{name}, line {number}: {word} is not allowed: {rule.reason}")
    more = [f"and {len(found) - _SHOWN} more"] if len(found) > _SHOWN else []
    return found[:_SHOWN] + more


def _broken(build: Build, word: str) -> SourceRule | None:
    return next(
        (r for r in build.rules if any(fnmatch.fnmatchcase(word, p) for p in r.words)), None
    )


def _said(text: str) -> str:
    """Return the text without comments and strings; the numbers of its lines stay."""

    def lines(found: re.Match[str]) -> str:
        return " " + "\n" * found[0].count("\n") + "\0" * found[0].count("\0")

    # A word may be split over lines: what is joined gives its line breaks back behind it.
    joined = _SPLICE.sub("\0", text)
    plain = _UNSAID.sub(lines, joined)
    return "\n".join(line.replace("\0", "") + "\n" * line.count("\0") for line in plain.split("\n"))
