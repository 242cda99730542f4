"""Grade what is honest on a GPU: it gets the tier that it earns, each time.

What tries to look faster than it is lies in ``tests/exploits/clock``. ``test_stopwatch`` runs the
same machinery on a CPU, where nothing is timed for a grade.
"""

import pytest
from stand_ins import expectation
from stand_ins.isolation import require_sandbox

from grader.judge.grade import grade
from grader.judge.setup.request import Request
from grader.labs.results import Report

FILES = {file.stem: file for file in sorted(expectation.CLOCK.glob("*.py"))}


def graded(name: str) -> Report:
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("speed is graded on a GPU only")
    require_sandbox()
    lab = expectation.find(expectation.SPEED)
    return grade(Request(lab, FILES[name], device="cuda", sandbox="required"))


@pytest.mark.parametrize("name", FILES)
def test_answer_gets_the_tier_that_it_earns(name: str) -> None:
    report = graded(name)

    odd = expectation.problems(report, expectation.read(FILES[name]))
    assert not odd, "\n".join((*odd, expectation.failures(report)))


def test_same_answer_gets_the_same_tier_ten_times() -> None:
    scores = [graded("right_baseline").score for _ in range(10)]

    assert scores == [95.0] * 10
