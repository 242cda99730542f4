"""Whether translated questions are the English ones: ids, kinds and draws, in the same order.

The first line of ``questions.zh.toml`` names the hash of the English file, which no student sees.
"""

import re
from collections.abc import Iterator
from dataclasses import replace

from grader.errors import LabError
from grader.labs.lab import QUESTIONS
from grader.labs.translations.pages import STALE, UNMARKED, Problem
from grader.labs.translations.stubs import digest_of
from grader.questions.definitions import questions_of
from grader.questions.question import CHINESE_FILE, Question, places

_MARK = re.compile(rf"\A# translates {re.escape(QUESTIONS)} (\S+)\n")


def problems(english: str, chinese: str) -> list[Problem]:
    """Return what is stale or different in translated questions."""
    try:
        ours, theirs = questions_of(english, QUESTIONS), questions_of(chinese, CHINESE_FILE)
    except LabError as error:
        return [Problem("", error.message)]
    found = _MARK.match(chinese)
    says = [UNMARKED] if not found else [STALE] if found[1] != digest_of(english) else []
    return [Problem("", text) for text in says] + [*_differences(ours, theirs)]


def stamped(english: str, chinese: str) -> str:
    """Return the translated questions with the hash of the English ones."""
    return f"# translates {QUESTIONS} {digest_of(english)}\n{told(chinese)}"


def told(chinese: str) -> str:
    """Return the questions as students get them, without the hash."""
    return _MARK.sub("", chinese)


def _differences(ours: tuple[Question, ...], theirs: tuple[Question, ...]) -> Iterator[Problem]:
    ids = [item.id for item in ours]
    if ids != [item.id for item in theirs]:
        yield Problem("", f"must ask in this order: {', '.join(ids)}")
        return
    for here, there in zip(ours, theirs, strict=True):
        same = replace(there, asks=here.asks, options=here.options, unit=here.unit)
        if same != here:
            yield Problem(here.id, "is not the same question but for asks, options and unit")
        elif len(here.options) != len(there.options):
            yield Problem(here.id, f"has {len(there.options)} options, not {len(here.options)}")
        elif places(here.asks) != places(there.asks):
            yield Problem(here.id, "asks about other draws")
        elif bool(here.unit) != bool(there.unit):
            yield Problem(here.id, "must have a unit in both languages or in none")
