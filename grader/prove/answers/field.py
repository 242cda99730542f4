"""Mistakes that engines of the world have had: edits of right answers, with where it was reported.

A file of ``tests/field/NN_topic`` is a wrong answer as those of ``wrong/`` are (``edits``). Its
docstring names the kind of the mistake, the report and the tasks that it must lose, each on a line:
``Kind: …``, ``Report: https://…`` (any number of them), ``Fails: task, task``.
"""

import ast
import re
from pathlib import Path

from grader.labs.lab import Lab

KINDS = {
    "addresses": "offsets that do not fit their integers, and block numbers that leave a tensor",
    "launches": "grids and blocks that a GPU refuses, or that leave a part out",
    "parameters": "ends of a parameter's range, and thresholds that an engine wrote down",
    "sizes": "none, one, and one more than a block: the small and the odd",
    "levels": "values whose size a formula or a dtype does not stand",
    "layouts": "strides, views and copies",
    "precision": "a dtype or an order of steps that rounds too early",
    "laws": "draws that do not follow the law they promise",
    "state": "what is kept, shared, counted or freed between calls",
    "positions": "offsets, masks and windows that are one off",
    "heads": "groups of heads, slices of weights and ranks that are taken for others",
    "gradients": "a backward that forgets, doubles or mixes up a part",
    "contracts": "arguments that are ignored, changed, or refused in the wrong way",
}
_LINE = re.compile(r"^(Kind|Report):\s*(.*?)\s*$", re.MULTILINE)
_ADDRESS = re.compile(r"https://[\w.-]+/[\w./#=?%&:-]+")


def field_bugs(lab: Lab) -> list[Path]:
    """List the ports of public bugs to a lab."""
    return sorted(lab.field.glob("*.py"))


def told(file: Path) -> dict[str, list[str]]:
    """Return what the docstring of a port says by ``Kind`` and ``Report``, and its text."""
    text = ast.get_docstring(ast.parse(file.read_bytes())) or ""
    found: dict[str, list[str]] = {"Kind": [], "Report": []}
    for name, said in _LINE.findall(text):
        found[name].append(said)
    found["text"] = [text.partition("\n")[0]]
    return found


def field_problem(lab: Lab, file: Path) -> str:
    """Say what is wrong with the lines that a port has beyond those of a wrong answer."""
    try:
        found = told(file)
    except (SyntaxError, ValueError) as error:
        return f"is no Python: {error}"
    if len(found["Kind"]) != 1 or found["Kind"][0] not in KINDS:
        return f"the docstring has no line `Kind: …` with one of {', '.join(KINDS)}"
    if not found["Report"]:
        return "the docstring has no line `Report: https://…`"
    bad = [address for address in found["Report"] if not _ADDRESS.fullmatch(address)]
    return f"this is no address: {bad[0]}" if bad else ""
