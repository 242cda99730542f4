"""The sanitizer on kernels that are right, and on those that are wrong in ways of students.

They run in a process of their own: Triton is told once whether to interpret.
"""

import json
import os
import subprocess
import sys
from typing import Any

import pytest
from stand_ins.expectation import HERE
from stand_ins.kernel_cases import Case, cases

RIGHT, WRONG = [*cases("right")], [*cases("wrong")]
Runs = dict[tuple[str, str], dict[str, Any]]


def named(case: Case) -> str:
    return case.name


@pytest.fixture(scope="module")
def runs() -> Runs:
    command = [sys.executable, str(HERE / "run_sanitizer.py"), "--json"]
    environment = {**os.environ, "PYTHONPATH": f"{HERE.parent}:{HERE}"}
    text = subprocess.run(
        command, capture_output=True, text=True, env=environment, check=True
    ).stdout
    read = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    return {(run["name"], run["order"]): run for run in read}


@pytest.mark.parametrize("order", ["", "reversed", "shuffled"])
@pytest.mark.parametrize("case", RIGHT, ids=named)
def test_right_kernel_raises_no_alarm(runs: Runs, case: Case, order: str) -> None:
    run = runs[case.name, order]

    assert run["found"] == []
    assert run["wrong"] == ""


@pytest.mark.parametrize("case", WRONG, ids=named)
def test_wrong_kernel_is_found_at_its_line(runs: Runs, case: Case) -> None:
    found = {(kind, line) for kind, line in runs[case.name, case.order]["found"]}

    assert case.expected
    assert found == case.expected
