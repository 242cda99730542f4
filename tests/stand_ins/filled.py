"""Model answers as a student would write them into a notebook: cut into the tasks of a lab."""

import ast
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from grader.labs.lab import Lab
from grader.labs.sections import IMPORTS, names
from grader.notebook.build import answer_source, code_source
from grader.notebook.handout import prompts
from grader.notebook.work import ANSWER


def answer_parts(lab: Lab) -> dict[str, str]:
    """Return a lab's model answer in parts; helpers go with the function that they stand before."""
    text = (lab.solutions / lab.code_name).read_text(encoding="utf-8")
    answers = prompts((lab.solutions / "PSEUDOCODE.md").read_text(encoding="utf-8"))
    return cut(lab, text) | {f"{ANSWER}{task}": answer for task, answer in answers.items()}


def cut(lab: Lab, text: str) -> dict[str, str]:
    """Cut a code file that has no headings into the sections of the lab."""
    owners: dict[str, str] = {}
    for task in lab.tasks:
        if task.id in names(lab):
            for name in task.functions:
                owners.setdefault(name, task.id)
    lines, nodes = text.split("\n"), ast.parse(text).body
    ends = [0, *(node.end_lineno or 0 for node in nodes)]
    defined = [isinstance(node, ast.FunctionDef | ast.ClassDef) for node in nodes]
    first = defined.index(True)
    found = {IMPORTS: "\n".join(lines[: ends[first]])}
    waiting: list[str] = []
    last = ""
    for node, start, end in zip(nodes[first:], ends[first:], ends[first + 1 :], strict=False):
        waiting += lines[start:end]
        task = owners.get(getattr(node, "name", ""))
        if task is not None:
            found[task] = "\n".join([found.get(task, ""), *waiting]).strip("\n")
            waiting, last = [], task
    found[last] = "\n".join([found[last], *waiting]).strip("\n")
    return found


def fill(notebook: Any, parts: Mapping[str, str]) -> Sequence[str]:
    """Write parts into the cells that are for them; return the parts that have no cell."""
    left = {*parts}
    for cell in notebook.cells:
        for tag in cell.metadata.get("tags", ()):
            part = tag.removeprefix("task:")
            if part in left:
                source = answer_source if part.startswith(ANSWER) else code_source
                cell.source = source(part.removeprefix(ANSWER), parts[part])
                left.discard(part)
    return sorted(left)


def copied(root: Path, into: Path) -> Path:
    """Copy what a grading needs of a tree, so that notebooks may write into its labs."""
    skip = shutil.ignore_patterns("__pycache__", "*.ipynb", "checkpoints", ".inferlab")
    for name in ("grader", "labs", "reference"):
        shutil.copytree(root / name, into / name, ignore=skip)
    (into / "labs" / "checkpoints").symlink_to(root / "labs" / "checkpoints")
    return into
