"""A handout cut at its headings: what comes before the tasks, each task, what comes after.

The headings are those of the English or of the Chinese handout.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from grader.labs.lab import PSEUDOCODE, Lab
from grader.labs.task import Task
from grader.labs.translations.files import translation
from grader.labs.translations.pages import told
from grader.languages.language import Language, say, spoken
from grader.text import number

_TASK = re.compile(r"## (?:Task|任务) ?(\d+)(?!\d)")
# A notebook has other ways.
_LEFT_OUT = (
    *("## Run it", "## Hand in", "## Pseudocode"),
    *("## 运行", "## 提交", "## 伪代码"),
)


@dataclass(frozen=True, slots=True)
class Handout:
    """The text of a lab in the order of a notebook."""

    before: str
    tasks: dict[str, str]  # of tasks that have a part of their own
    after: str


def read_handout(lab: Lab) -> Handout:
    """Cut a lab's README, in the language of the reader if it is there."""
    before: list[str] = []
    after: list[str] = []
    tasks: dict[str, str] = {}
    for part in _parts(in_readers_language(lab.handout)):
        match = _TASK.match(part)
        at = int(match[1]) if match else 0
        if 0 < at <= len(lab.tasks):
            tasks[lab.tasks[at - 1].id] = part
        elif not part.startswith(_LEFT_OUT):
            (after if tasks else before).append(part)
    return Handout("\n\n".join(before), tasks, "\n\n".join(after))


def in_readers_language(page: Path) -> str:
    """Return a page of a lab, for who reads Chinese its translation; stale sections say so."""
    english = page.read_text(encoding="utf-8")
    chinese = translation(page)
    if spoken() is Language.CHINESE and chinese.is_file():
        return told(english, chinese.read_text(encoding="utf-8"))
    return english


def described(task: Task) -> str:
    """Return a text for a task whose handout has no part for it alone."""
    points = say(f"{number(task.points)} points")
    lines = [f"## {say(task.title)} ({points})"]
    if task.contracts:
        lines += ["", f"| | {say('what holds')} |", "|---|---|"]
        lines += [f"| {item.number} | {say(item.says)} |" for item in task.contracts]
    return "\n".join(lines)


def prompts(text: str) -> dict[str, str]:
    """Cut a PSEUDOCODE.md at its headings; keys are the names that stand in them."""
    found = (part.partition("\n") for part in _parts(text) if part.startswith("## "))
    return {head.removeprefix("## ").strip(" `"): body.strip("\n") for head, _, body in found}


def put_answer(text: str, task: str, answer: str) -> str:
    """Put a new text below the heading of a task; one that has none gets it at the end."""
    parts = list(_parts(text))
    new = f"## {task}\n\n{answer.strip()}"
    names = [
        part.partition("\n")[0].removeprefix("## ").strip(" `") if part.startswith("## ") else ""
        for part in parts
    ]
    if task in names:
        parts[names.index(task)] = new
    else:
        parts.append(new)
    return "\n\n".join(parts) + "\n"


def answered(lab: Lab) -> tuple[str, ...]:
    """Return the tasks that ask for pseudocode."""
    return tuple(task.id for task in lab.tasks if task.id != PSEUDOCODE)


def _parts(text: str) -> Iterator[str]:
    """Yield the parts of a text that begin with ``## ``, and what comes before the first."""
    part: list[str] = []
    fenced = False
    for line in text.split("\n"):
        fenced ^= line.lstrip().startswith(("```", "~~~"))
        if line.startswith("## ") and not fenced:
            yield from _whole(part)
            part = []
        part.append(line)
    yield from _whole(part)


def _whole(lines: list[str]) -> Iterator[str]:
    text = "\n".join(lines).strip("\n")
    if text.strip():
        yield text
