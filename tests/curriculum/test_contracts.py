"""Every lab of the curriculum numbers its contracts, tells them and tries them."""

from pathlib import Path

import pytest

from grader.labs.lab import Lab, all_labs
from grader.prove.contracts import check_contracts, earned_by_contracts
from grader.prove.findings import Outcome

LABS = all_labs(Path(__file__).resolve().parents[2])


@pytest.mark.parametrize("lab", LABS, ids=[lab.name for lab in LABS])
def test_every_lab_numbers_tells_and_tries_its_contracts(lab: Lab) -> None:
    findings = [*check_contracts(lab)]

    assert all(task.contracts for task in earned_by_contracts(lab))
    assert findings
    assert [item.lines() for item in findings if item.outcome is not Outcome.OK] == []
