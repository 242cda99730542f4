"""A lab's contracts are told, tried and worth something: handout, lab.toml and tests agree."""

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from grader.labs.lab import PSEUDOCODE, Lab
from grader.labs.task import Task
from grader.prove.files import contract_rows, plain, shown
from grader.prove.findings import Finding, verdict
from grader.prove.least import LEAST

HIDDEN_ONLY = re.compile(r"^Tried by the hidden tests only: ([\d, ]+)\.", re.MULTILINE)
_ROW = re.compile(r"^\| \d+ \| .* \|$", re.MULTILINE)


class Mark(NamedTuple):
    """What ``@task`` says of a test; the contract is 0 where it names none."""

    test: str
    task: str
    contract: int


def check_contracts(lab: Lab) -> Iterator[Finding]:
    """Hold what a lab promises against its files; nothing is asked of a lab without contracts."""
    if not any(task.contracts for task in lab.tasks):
        return
    handout = lab.handout.read_text(encoding="utf-8") if lab.handout.is_file() else ""
    yield _listed(lab, handout)
    yield from _tried(lab, handout)
    yield from _named(lab)
    yield _weighed(lab)


def _listed(lab: Lab, handout: str) -> Finding:
    rows = contract_rows(lab)
    # Other tables of a handout may begin with a number too.
    found = [row for row in map(plain, _ROW.findall(handout)) if row in rows]
    problem = "the order is not that of lab.toml" if found != rows else ""
    missing = [row for row in rows if row not in found]
    return _finding(lab, "handout lists the contracts", lab.handout, missing[:1] or [problem])


def _tried(lab: Lab, handout: str) -> Iterator[Finding]:
    numbers = {contract.number for task in lab.tasks for contract in task.contracts}
    told = {int(n) for line in HIDDEN_ONLY.findall(handout) for n in line.split(",") if n.strip()}
    for suite, spared in ((lab.hidden_suite, set[int]()), (lab.public_suite, told)):
        tried = {mark.contract for mark in marks(suite)} & numbers
        problems = [f"no test of contract {n}" for n in sorted(numbers - tried - spared)]
        problems += [f"a test of contract {n}, which the handout denies" for n in tried & spared]
        yield _finding(lab, "tests try every contract", suite, problems)


def _named(lab: Lab) -> Iterator[Finding]:
    ours = {task.id for task in earned_by_contracts(lab)}
    for suite in (lab.hidden_suite, lab.public_suite):
        silent = [mark.test for mark in marks(suite) if mark.task in ours and not mark.contract]
        problems = [f"{test} does not" for test in silent]
        yield _finding(lab, "tests name their contract", suite, problems)


def _weighed(lab: Lab) -> Finding:
    problems: list[str] = []
    for task in earned_by_contracts(lab):
        weights = [contract.weight for contract in task.contracts]
        if not weights:
            problems.append(f"{task.id} has no contract")
        elif min(weights) / sum(weights) < LEAST:
            problems.append(f"one of {task.id} is worth less than {LEAST:.0%} of it")
    return _finding(lab, "each contract shows in the points", lab.folder / "lab.toml", problems)


def earned_by_contracts(lab: Lab) -> list[Task]:
    """Return the tasks whose points are shared among contracts."""
    return [task for task in lab.tasks if not task.ladders and task.id != PSEUDOCODE]


def marks(suite: Path) -> list[Mark]:
    """Return the mark of each test of a suite, as it is written; none if it cannot be read."""
    try:
        tree = ast.parse(suite.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return []  # another finding says so
    tests = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    return [
        _mark(node.name, mark)
        for node in tests
        if node.name.startswith("test_")
        for mark in node.decorator_list
        if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "task"
    ]


def _mark(test: str, call: ast.Call) -> Mark:
    contracts = [word.value for word in call.keywords if word.arg == "contract"]
    values = [value.value for value in contracts if isinstance(value, ast.Constant)]
    number = next((value for value in values if isinstance(value, int)), 0)
    task = call.args[0] if call.args else None
    return Mark(test, str(task.value) if isinstance(task, ast.Constant) else "", number)


def _finding(lab: Lab, rule: str, file: Path, problems: Iterable[str]) -> Finding:
    return verdict(lab.name, rule, shown(lab, file), "; ".join(filter(None, problems)))
