"""Say what is wrong with the sections of a pseudocode, in a process that has nothing else to do.

Patterns and a parser are held against words that may be anything at all, and against the whole code
beside them, which takes memory. Standard library only: ``pseudocode`` starts this.
"""

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from grader.confined import confine
from grader.reading.pseudocode.compiled import compiled_share, without_comments
from grader.reading.pseudocode.given import stub_text
from grader.reading.pseudocode.pasted import (
    PROMPT_GRAM,
    bare,
    grams,
    nameless_grams,
    python_share,
    python_tokens,
    quotable,
    quoted,
    shared,
    shared_nameless,
)
from grader.reading.pseudocode.steps import (
    WORDS,
    asks_invariant,
    mentions,
    out_of_order,
    states_invariant,
    steps,
    telling,
    vocabulary,
)
from grader.reading.pseudocode.words import halfwidth, weigh, words

MOST_SHARED = 0.5  # share of a section's tokens or words that may be pasted from one place
MOST_ASKED = 0.85  # share of a section's vocabulary that may be the prompt's


@dataclass(frozen=True, slots=True)
class Asked:
    """What a lab asks of a section, and what stands there."""

    id: str
    names: Sequence[str]
    order: Sequence[str]
    steps: int
    prompt: str
    quotes: str  # the block quotes of the section: the prompt, as the student has it
    lines: Sequence[str]  # the others

    @classmethod
    def read(cls, row: Sequence[Any]) -> "Asked":
        """Take a row of a request, wide signs of Chinese as those of ASCII."""
        id_, names, order, least, prompt, quotes, lines = row
        own = [*map(halfwidth, lines)]
        return cls(id_, names, order, least, halfwidth(prompt), halfwidth(quotes), own)


@dataclass(frozen=True, slots=True)
class Code:
    """A program's runs of tokens, as ``grams`` gives them, and the language that it is called."""

    language: str
    runs: frozenset[tuple[str, ...]]
    nameless: frozenset[tuple[str, ...]]

    @classmethod
    def of(cls, language: str, *programs: str) -> "Code":
        """Take what is written in a language."""
        empty = frozenset[tuple[str, ...]]()
        named = empty.union(*(grams(python_tokens(text)) for text in programs))
        return cls(language, named, empty.union(*map(nameless_grams, programs)))


@dataclass(frozen=True, slots=True)
class Sources:
    """What may have been pasted in."""

    python: Code
    compiled: Code | None  # where a lab has sources for a compiler
    given: frozenset[tuple[str, ...]]  # the handout, the stub's docstrings, the prompts


def main() -> None:
    """Read a request from standard input, write what is wrong by task to the output."""
    confine()
    told: dict[str, Any] = json.load(sys.stdin)
    code, given = told["code"], [*told["given"], *map(stub_text, told["stubs"])]
    runs = frozenset[tuple[str, ...]]().union(*(quotable(halfwidth(text)) for text in given))
    compiled = [*map(without_comments, told["sources"])]
    sources = Sources(
        Code.of("Python", code), Code.of("C++", *compiled) if compiled else None, runs
    )
    tasks = [Asked.read(row) for row in told["asked"]]
    json.dump({task.id: problem(task, sources) for task in tasks}, sys.stdout)


def problem(task: Asked, sources: Sources) -> str:
    """Say what is wrong with a section, "" if nothing is."""
    prompts = f"{task.prompt} \n {task.quotes}"
    found = steps(task.lines, prompts)
    if not found:
        return f"the section `## {task.id}` is empty: answer below the prompt, one step a line"
    return _pasted(task, prompts, sources) or _too_little(task, found) or _unsaid(task, found)


def _pasted(task: Asked, prompts: str, sources: Sources) -> str:
    """Say what a section was pasted from, "" if from nothing."""
    lines = task.lines
    if sources.compiled is not None:
        cleared = without_comments("\n".join(lines)).splitlines()
        if found := _code(cleared, sources.compiled, compiled_share(lines)):
            return found
    if found := _code(lines, sources.python, python_share(lines)):
        return found
    text = "\n".join(map(bare, lines))
    own = quotable(prompts, PROMPT_GRAM)
    if (
        quoted(text, own, PROMPT_GRAM) > MOST_SHARED
        or _asked(text, prompts, task.names) > MOST_ASKED
    ):
        return "this is mostly the text of the prompt: answer it in your own words"
    if quoted(text, sources.given) > MOST_SHARED:
        return "this is mostly the text of the handout: say it in your own words"
    return ""


def _code(lines: Sequence[str], code: Code, share: float) -> str:
    """Say that lines are a submission's own code, or that a ``share`` is anybody's; "" if not."""
    language = code.language
    if shared(lines, code.runs) > MOST_SHARED:
        return f"this is mostly the {language} of your submission: say in words what happens"
    if shared_nameless(lines, code.nameless) > MOST_SHARED:
        return f"this is your submission's {language} with other names: say in words what happens"
    if share > MOST_SHARED:
        return f"this is mostly {language}: say in words what happens"
    return ""


def _asked(text: str, prompts: str, names: Sequence[str]) -> float:
    """Give the share, 0 to 1, of a text's vocabulary that the prompts have too."""
    own = vocabulary([text], names)
    asked = vocabulary([prompts], names).union(words(prompts))  # cut anew, filling tells something
    return weigh(own & asked) / weigh(own) if own else 0.0


def _too_little(task: Asked, found: list[str]) -> str:
    count = len(telling(found, task.names))
    if count < task.steps:
        more = "" if count == len(found) else "; a list of names is no step: say what happens"
        said = "1 step" if count == 1 else f"{count} steps"
        return f"{said}, at least {task.steps} are asked for, one a line{more}"
    if weigh(vocabulary(found, task.names)) < WORDS * task.steps:
        return "the steps say little beside the names asked for: say what happens to each"
    return ""


def _unsaid(task: Asked, found: list[str]) -> str:
    missing = [name for name in task.names if not any(mentions(line, name) for line in found)]
    if missing:
        return f"does not mention {', '.join(missing)}"
    if asks_invariant(task.prompt) and not states_invariant(found):
        return "states no invariant: the prompt asks for one"
    return out_of_order(found, task.order)
