"""Whose fault it is that a test of ours raises after a value of the submission came: who knows.

The test runs again, on the same seed and draw, with the lab's model answer in the submission's
place. What that passes has failed for the submission: the test could not go on with a value of its
own. What raises again, or does not pass, is this machine's or the suite's, and is ``infra``. The
submission learns nothing of it: its workers are gone before, and the next test has fresh ones.

A student's tree has no model answer, and nothing in it is a secret or a grade: there, where a value
has come, the submission has failed, and is shown which.
"""

import contextlib
import math
from collections.abc import Callable
from typing import Any

import pytest

from grader.errors import CannotGrade, Mismatch, NotGraded, SubmissionFault
from grader.judge.plugin.draw import Draw
from grader.judge.plugin.gates import GateFailed
from grader.judge.plugin.items import expected_of
from grader.judge.plugin.recorder import Recorder
from grader.judge.plugin.verdicts import called_a_value
from grader.judge.setup.configuration import Run
from grader.judge.setup.log import log
from grader.proxy.loans.budget import hold_to_its_time
from grader.proxy.student import Student
from grader.proxy.values.compare import measuring
from grader.proxy.values.shown import differing
from grader.sandbox.pace import PACE
from grader.timing.stopwatch import Stopwatch

MOST_SECONDS = 60.0  # of one grading: what is left then is held against the submission untried
STUMBLED = "the test cannot go on with what the code gave; the last that came is {}"
A_VALUE = "what should be a method of the object is a plain value"
SAYS_WHOSE = (SubmissionFault, CannotGrade, NotGraded, GateFailed)
Judging = tuple[Student, Stopwatch | None]


class Retrial:
    """Runs tests again; ``model`` starts the model answer, which waits until it is needed."""

    def __init__(
        self, run: Run, student: Student, model: Callable[[], Judging] | None = None
    ) -> None:
        self._run = run
        self._student = student
        self._start = model
        self._model: Judging | None = None
        self._seconds = 0.0
        self._is_sound = True  # the model answer has passed each test that it was asked for

    def settled(self, item: pytest.Item, error: BaseException) -> BaseException:
        """Return what ended a test as it is, or as the submission's fault if that is what it was.

        Left as they are: what says whose it is, and what was met before the submission was asked.
        """
        if not isinstance(error, Exception) or isinstance(error, SAYS_WHOSE):
            return error
        log(self._run.lab.root, item.nodeid, error)
        came = self._student.calls_().came
        if not came or (self._start is not None and not self._passes(item)):
            return error
        return Mismatch(A_VALUE if called_a_value(error, item) else STUMBLED.format(came))

    def _passes(self, item: pytest.Item) -> bool:
        if self._seconds >= MOST_SECONDS:
            return self._is_sound
        started = PACE.now()
        self._student.give_up_()  # it may be what holds all memory, or all of a core
        try:
            passed = self._passes_now(item)
        finally:
            self._seconds += PACE.now() - started
        self._is_sound &= passed
        return passed

    def _passes_now(self, item: pytest.Item) -> bool:
        assert self._start is not None
        try:
            student, stopwatch = self._model = self._model or self._start()
            end = PACE.now() + self._run.lab.limits.test_seconds
            student.turn_to_(self._run.lab.task(expected_of(self._run.lab, item).task))
            student.begin_(end, math.inf, 0)
            run_again(item, self._run, student, stopwatch)
        except (Exception, pytest.skip.Exception, pytest.fail.Exception):
            return False
        finally:
            if self._model is not None:
                with contextlib.suppress(SubmissionFault):
                    self._model[0].retire_()
        return True


def run_again(item: pytest.Item, run: Run, student: Student, stopwatch: Stopwatch | None) -> None:
    """Run a test on what it was given, drawn again; nothing that it measures is kept."""
    given = _given(item, run, student, stopwatch)
    test: Callable[..., Any] = getattr(item, "obj")  # noqa: B009  # a function's item alone has it
    with measuring(), differing():
        hold_to_its_time(lambda: test(**given))


def _given(
    item: pytest.Item, run: Run, student: Student, stopwatch: Stopwatch | None
) -> dict[str, Any]:
    """Return what a test was given, drawn again, with another ``student`` or stopwatch."""
    used: dict[str, Any] = getattr(item, "funcargs")  # noqa: B009
    fresh = {
        "student": student,
        "draw": Draw(run.seed, item.nodeid.partition("::")[2]),
        "stopwatch": stopwatch,
        "plot": Recorder(lambda *_: None),
    }
    info = item._fixtureinfo  # pyright: ignore
    return {name: fresh.get(name, used[name]) for name in info.argnames}
