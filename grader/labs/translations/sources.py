"""Whether a translated source for a compiler is the English one: only comments differ.

It names the hash of the English file as a stub in Python does (``stubs``).
"""

import re

from grader.labs.translations.pages import Problem
from grader.labs.translations.stubs import digest_of, problems_of, told

_PART = re.compile(r'"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/', re.DOTALL)  # of text: kept, or none


def problems(english: str, chinese: str) -> list[Problem]:
    """Return what is stale or different in a translated source."""
    return problems_of(english, chinese, same=_bare(english) == _bare(told(chinese)))


def stamped(english: str, chinese: str) -> str:
    """Return the translated source with the hash of the English one."""
    return f"// en: {digest_of(english)}\n{told(chinese)}"


def _bare(source: str) -> list[str]:
    """Return the words of a source, without comments."""
    return _PART.sub(lambda part: part[0] if part[0][0] == '"' else " ", source).split()
