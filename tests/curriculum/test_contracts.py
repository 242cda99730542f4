"""The contracts of each lab: the handout's tables are those of lab.toml, and tests try them all."""

import ast
import re
from pathlib import Path

import pytest

from grader.labs.lab import PSEUDOCODE, Lab, Task, all_labs

LABS = {lab.name: lab for lab in all_labs(Path(__file__).resolve().parents[2])}
NUMBERED = {name: lab for name, lab in LABS.items() if any(t.contracts for t in lab.tasks)}
ROW = re.compile(r"^\| (\d+) \| (.*) \|$", re.MULTILINE)
HIDDEN_ONLY = re.compile(r"^Tried by the hidden tests only: ([\d, ]+)\.", re.MULTILINE)
MOST = 20  # of a task: what breaks one of them loses at least 5 % of it


def marks(file: Path) -> list[tuple[str, str, int]]:
    """Return (test, task, contract) of each test of a suite."""
    found: list[tuple[str, str, int]] = []
    for node in ast.parse(file.read_bytes()).body:
        if not isinstance(node, ast.FunctionDef) or not node.name.startswith("test_"):
            continue
        for mark in node.decorator_list:
            if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "task":
                named = {word.arg: ast.literal_eval(word.value) for word in mark.keywords}
                found.append((node.name, ast.literal_eval(mark.args[0]), named.get("contract", 0)))
    return found


def earned_by_contracts(lab: Lab) -> list[Task]:
    return [task for task in lab.tasks if not task.ladders and task.id != PSEUDOCODE]


def test_every_lab_numbers_its_contracts() -> None:
    assert NUMBERED.keys() == LABS.keys()


@pytest.mark.parametrize("name", NUMBERED)
def test_handout_has_the_contracts_of_the_lab(name: str) -> None:
    rows = [(int(number), says) for number, says in ROW.findall(LABS[name].handout.read_text())]
    contracts = [contract for task in LABS[name].tasks for contract in task.contracts]

    # Other tables of a handout may begin with a number too.
    assert [row for row in rows if row in {(c.number, c.says) for c in contracts}] == [
        (contract.number, contract.says) for contract in contracts
    ]


@pytest.mark.parametrize("name", NUMBERED)
def test_each_contract_is_tried(name: str) -> None:
    lab = LABS[name]
    public = {number for _, _, number in marks(lab.public_suite)}
    hidden = {number for _, _, number in marks(lab.hidden_suite)}
    numbers = {contract.number for task in lab.tasks for contract in task.contracts}
    told = {
        int(number)
        for line in HIDDEN_ONLY.findall(lab.handout.read_text())
        for number in line.split(",")
    }

    assert numbers - hidden == set()
    assert numbers - public == told


@pytest.mark.parametrize("name", NUMBERED)
def test_each_test_names_the_contract_that_it_tries(name: str) -> None:
    lab = LABS[name]
    ours = {task.id for task in earned_by_contracts(lab)}

    for suite in (lab.public_suite, lab.hidden_suite):
        silent = [test for test, task, number in marks(suite) if task in ours and not number]
        assert (suite.name, silent) == (suite.name, [])


@pytest.mark.parametrize("name", NUMBERED)
def test_what_breaks_a_contract_shows_in_the_points(name: str) -> None:
    for task in earned_by_contracts(LABS[name]):
        weights = [contract.weight for contract in task.contracts]
        assert weights, task.id
        assert min(weights) / sum(weights) >= 1 / MOST, task.id
