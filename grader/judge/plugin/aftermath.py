"""Where a kernel was when it ended a worker, for the message: a signal names no line.

The test runs once more, on the same seed and draw, with launches followed through memory as by the
sanitizer: there an access that leaves its tensor is noted and does not happen. What comes of the
test is thrown away, so it costs no point and earns none.
"""

import contextlib
import math

import pytest

from grader.errors import StudentCrashed
from grader.judge.plugin.retrial import run_again
from grader.judge.setup.configuration import Run
from grader.proxy.instruments.mistakes import Sanitized, told
from grader.proxy.student import Student
from grader.sandbox.pace import PACE

MOST_SECONDS = 20.0  # of a test
MOST_TESTS = 2  # of a grading: others crash where these did


class Aftermath:
    """Runs tests again that a crash has ended."""

    def __init__(self, run: Run, student: Student) -> None:
        self._run = run
        self._student = student
        self._left = MOST_TESTS if run.device == "cpu" and "triton" in run.lab.imports else 0

    def told(self, item: pytest.Item, error: BaseException) -> str:
        """Return what kernels of the test did that may be why it crashed, each at its line."""
        if not self._left or not isinstance(error, StudentCrashed):
            return ""
        self._left -= 1
        end = PACE.now() + min(MOST_SECONDS, self._run.lab.limits.test_seconds)
        self._student.begin_(end, math.inf, 0)
        followed = Sanitized()
        with contextlib.suppress(Exception, pytest.skip.Exception, pytest.fail.Exception):
            with self._student.sanitized() as followed:
                run_again(item, self._run, self._student, None)
        return told(followed.unsound, self._student.lines_()) if followed.unsound else ""
