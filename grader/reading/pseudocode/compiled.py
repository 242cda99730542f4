"""What a text was pasted from where the code is C++ or CUDA, as ``pasted`` says it of Python.

Nothing is parsed: a line is code by signs that neither sentences nor formulas have.
"""

import re
from collections.abc import Iterable

from grader.reading.pseudocode.pasted import bare, python_tokens
from grader.reading.pseudocode.words import has_han, weigh

_COMMENT = re.compile(r"//[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
_TYPES = (
    "auto bool char const constexpr double float int int32_t int64_t size_t static template "
    "typename unsigned using void"
)
_ONLY_CODE = re.compile(
    rf"""
    \w::\w | \w->\w | <<< | \A\# \s* (?:include|define|pragma)\b
    | \A[{{}}]+ | [{{]\Z
    | \A (?:{_TYPES.replace(" ", "|")}) \b .* [;(]
    | \A (?:for|if|while|switch) \s* \( .* [;)] \s* .* [;{{)] \Z
    | \A return \b .* ; \Z
    | [\w>] \( .* \) \s* ; \Z
    """,
    re.VERBOSE,
)


def without_comments(source: str) -> str:
    """Take comments away: who writes the pseudocode into them copies no code."""
    return _COMMENT.sub(" ", source)


def compiled_share(lines: Iterable[str]) -> float:
    """Give the share of tokens in lines that only C++ has, 0 to 1; comments do not count."""
    code = total = 0.0
    for line in map(bare, without_comments("\n".join(lines)).splitlines()):
        worth = weigh(python_tokens(line))
        total += worth
        if _ONLY_CODE.search(line.strip(" `")) and not has_han(line):
            code += worth
    return code / total if total else 0.0
