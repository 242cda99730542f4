"""Grade what tries to look faster than it is, on a GPU, and compare with what it expects.

What each tries and what must come out stands in its docstring. ``test_stopwatch`` runs the same
machinery on a CPU, where nothing is timed for a grade.
"""

import expectation
import pytest
from isolation import require_sandbox

from grader.grade import grade
from grader.lab import load_lab
from grader.results import Report

LAB = load_lab(expectation.HERE / "course" / "labs" / "91_softmax")
FILES = {file.stem: file for file in sorted(expectation.CLOCK.glob("*.py"))}


def graded(name: str) -> Report:
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("speed is graded on a GPU only")
    require_sandbox()
    return grade(LAB, FILES[name], device="cuda", sandbox="required")


@pytest.mark.parametrize("name", FILES)
def test_clock_cannot_be_cheated(name: str) -> None:
    wanted = expectation.read(FILES[name])

    report = graded(name)

    shown = "\n".join(f"{t.id} [{t.verdict}] {t.message[:300]!r}" for t in report.tests)
    for task, verdicts in wanted.verdicts.items():
        got = expectation.summary(report, task)
        assert expectation.fits(got, verdicts), f"{task}: {got}\n{shown}"
    assert report.score == wanted.score, shown


def test_same_answer_gets_the_same_tier_ten_times() -> None:
    scores = [graded("right_baseline").score for _ in range(10)]

    assert scores == [95.0] * 10
