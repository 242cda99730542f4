"""The end of a grading: trials of ours move it, but not without end."""

from collections.abc import Callable

import pytest

from grader.judge.setup import deadline as module
from grader.judge.setup.deadline import MOST_GIVEN_BACK, Deadline
from grader.sandbox.pace import Pace


@pytest.fixture
def passes(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """A clock that only a test moves."""
    now = [0.0]
    pace = Pace()
    monkeypatch.setattr(pace, "now", lambda: now[0])
    monkeypatch.setattr(module, "PACE", pace)

    def pass_(seconds: float) -> None:
        now[0] += seconds

    return pass_


def test_what_a_trial_of_ours_takes_is_given_back(passes: Callable[[float], None]) -> None:
    deadline = Deadline(100.0)

    with deadline.given_back():
        passes(5.0)
    passes(99.0)

    assert not deadline.is_over
    assert deadline.at == 105.0


def test_trials_of_many_faults_do_not_outlast_the_session(passes: Callable[[float], None]) -> None:
    deadline = Deadline(100.0)

    for _ in range(50):
        with deadline.given_back():
            passes(5.0)

    assert deadline.is_over
    assert deadline.at == 100.0 + MOST_GIVEN_BACK


def test_what_others_took_of_a_gpu_is_no_trial(passes: Callable[[float], None]) -> None:
    deadline = Deadline(100.0)

    deadline.extend(1000.0)

    assert deadline.at == 1100.0
