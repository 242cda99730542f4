"""What a student's tree asks of assistants, under each name by which they look for it.

One text, ``AGENTS.md``, which most of them read. Those that read another name are led there where
they follow a line ``@file``, and have a copy where they do not.
"""

from collections.abc import Sequence
from pathlib import Path
from string import Template

from grader.course.config import Assistants
from grader.labs.lab import PSEUDOCODE, Lab

NAME = "AGENTS.md"
TEXTS = {
    Assistants.TUTOR: Path(__file__).with_name("tutor.md.txt"),
    Assistants.STRICT: Path(__file__).with_name("strict.md.txt"),
}
IMPORTS = {
    "CLAUDE.md": f"@{NAME}\n",
    "GEMINI.md": f"@./{NAME}\n",
    ".cursor/rules/course.mdc": (
        "---\ndescription: What this course asks of assistants\nalwaysApply: true\n---\n\n"
        f"@{NAME}\n"
    ),
}
COPIES = (".github/copilot-instructions.md",)
NAMES = (NAME, *IMPORTS, *COPIES)


def assistant_files(policy: Assistants, labs: Sequence[Lab]) -> dict[str, bytes]:
    """Return the files by path in the tree; none where the course asks nothing."""
    if policy not in TEXTS or not labs:
        return {}
    template = Template(TEXTS[policy].read_text(encoding="utf-8"))
    first = next((lab for lab in labs if not lab.is_manual), labs[0])
    task = next((task.id for task in first.tasks if task.id != PSEUDOCODE), PSEUDOCODE)
    text = template.substitute(
        work="\n".join(_work(lab) for lab in labs), number=first.number, task=task
    )
    found = {NAME: text, **IMPORTS, **dict.fromkeys(COPIES, text)}
    return {path: content.encode() for path, content in found.items()}


def _work(lab: Lab) -> str:
    """Name what a student writes of a lab."""
    files = ", ".join(f"`labs/{lab.name}/{name}`" for name in lab.handed_in)
    functions = dict.fromkeys(name for task in lab.tasks for name in task.functions)
    named = f": {', '.join(f'`{name}`' for name in functions)}" if functions else ""
    return f"- {files}{named}"
