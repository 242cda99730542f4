"""Model answers as a student would write them into a notebook: cut into the tasks of a lab."""

import ast
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from grader.labs.documents.sections import IMPORTS, bodies, names, without_heading
from grader.labs.lab import Lab
from grader.notebook.build import answer_source, code_source
from grader.notebook.handout import prompts
from grader.notebook.work import ANSWER


def answer_parts(lab: Lab) -> dict[str, str]:
    """Return a lab's model answer in parts; helpers go with the function that they stand before."""
    text = (lab.solutions / lab.code_name).read_text(encoding="utf-8")
    answers = prompts((lab.solutions / "PSEUDOCODE.md").read_text(encoding="utf-8"))
    return cut(lab, text) | {f"{ANSWER}{task}": answer for task, answer in answers.items()}


def cut(lab: Lab, text: str) -> dict[str, str]:
    """Cut a code file that has no headings into the sections of the lab.

    What is above the first definition is shared; a helper goes to the first task that uses it.
    """
    owners = _owners(lab)
    lines, nodes = text.split("\n"), ast.parse(text).body
    ends = [0, *(node.end_lineno or 0 for node in nodes)]
    defined = [isinstance(node, ast.FunctionDef | ast.ClassDef) for node in nodes]
    first = defined.index(True)
    begin = min([nodes[first].lineno, *(d.lineno for d in nodes[first].decorator_list)])
    found = {IMPORTS: "\n".join(lines[: begin - 1]).strip("\n")}
    ends[first] = begin - 1
    pieces = [
        (node, "\n".join(lines[start:end]))
        for node, start, end in zip(nodes[first:], ends[first:], ends[first + 1 :], strict=False)
    ]
    shared = ast.parse(bodies(lab, lab.stub.read_text(encoding="utf-8"))[IMPORTS])
    owners |= dict.fromkeys(set().union(*map(_defines, shared.body)), IMPORTS)
    places = [owners.get(getattr(node, "name", ""), "") for node, _ in pieces]
    above = [piece for (_, piece), place in zip(pieces, places, strict=True) if place == IMPORTS]
    found[IMPORTS] = "\n".join([found[IMPORTS], *above])
    for task in [name for name in names(lab) if name != IMPORTS]:
        used: set[str] = set()
        while True:
            mine = [node for (node, _), place in zip(pieces, places, strict=True) if place == task]
            more = {n.id for node in mine for n in ast.walk(node) if isinstance(n, ast.Name)}
            if more == used:
                break
            used = more
            places = [
                task if not place and used & _defines(node) else place
                for (node, _), place in zip(pieces, places, strict=True)
            ]
        texts = [piece for (_, piece), place in zip(pieces, places, strict=True) if place == task]
        found[task] = "\n".join(texts).strip("\n")
    return {task: without_heading(lab, piece).strip("\n") for task, piece in found.items()}


def _owners(lab: Lab) -> dict[str, str]:
    """Return by function the task that it is written in."""
    owners: dict[str, str] = {}
    for task in lab.tasks:
        for name in task.functions if task.id in names(lab) else ():
            owners.setdefault(name, task.id)
    return owners


def _defines(node: ast.stmt) -> set[str]:
    stored = {
        item.id
        for item in ast.walk(node)
        if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Store)
    }
    name = getattr(node, "name", None)
    return {name} if name else stored


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


def copied(root: Path, into: Path, *, hidden: bool = True) -> Path:
    """Copy what a grading needs of a tree, so that notebooks may write into its labs.

    Without what is ``hidden`` it is as students have it: the public tests alone are run.
    """
    skip = shutil.ignore_patterns("__pycache__", "*.ipynb", "checkpoints", ".inferlab")
    for name in ("grader", "labs", *(["reference"] if hidden else [])):
        shutil.copytree(root / name, into / name, ignore=skip)
    for suite in [] if hidden else into.glob("grader/suites/*_*.py"):
        suite.unlink()
    (into / "labs" / "checkpoints").symlink_to(root / "labs" / "checkpoints")
    return into
