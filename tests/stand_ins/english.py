"""Find English in what is shown to one who reads Chinese: runs of words that are no code or name.

Left aside are code, calls and lines of source, names of tests and files, commands, numbers, what
an exception of the submission says, and the terms that Chinese engineers write in English: those of
the glossary's Chinese column.
"""

import re
from collections.abc import Iterator

from grader import ROOT

MANY = 3  # words in a run
_ROW = re.compile(r"^\| [^|]+ \| ([^|]+) \|", re.MULTILINE)
_WORD = r"[A-Za-z][a-z']+"
_RUN = re.compile(rf"(?<![\w./-]){_WORD}(?:,? {_WORD})+(?![\w(./=])")
_OTHERS = (
    r"`[^`]*`",  # code
    r"\b\w*(?:Error|Exception|Exit|Interrupt|Warning)\b(?::.*)?$",  # what an exception says
    r"^\s*第 \d+ 行(?:，\w* 中)?：.*$",  # a line of the submission
    r"^\s*(?:调用：)?(?:\w+ = )?[\w.]+\(.*\).*$",  # a call
    r"\b(?:make|lab|pip|apt|dnf|pacman|git|ulimit) [\w=. -]+",  # a command
    r"'[^']*'|\"[^\"]*\"",  # a value
    r"[^\s，：；（）。]*[_/=\[\]][^\s，：；（）。]*",  # names, paths, sizes
)
_ASIDE = re.compile("|".join(_OTHERS), re.MULTILINE)


def terms() -> frozenset[str]:
    """Return the words that stay English in Chinese."""
    glossary = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    told = " ".join(_ROW.findall(glossary))
    return frozenset(word.lower() for word in re.findall(r"[A-Za-z]+", told))


def english_in(text: str) -> Iterator[str]:
    """Go through the runs of a text of three English words or more."""
    known = terms()
    for line in text.splitlines():
        for run in _RUN.findall(_ASIDE.sub(" · ", line)):
            words = [word for word in re.findall(_WORD, run) if word.lower() not in known]
            if len(words) >= MANY:
                yield run
