"""What a test of a suite is handed by its fixtures."""

from collections.abc import Callable
from typing import Any

import pytest

from grader.errors import NotGraded
from grader.judge.plugin.draw import Draw
from grader.judge.plugin.recorder import Recorder
from grader.judge.setup.configuration import Run
from grader.proxy.student import Student
from grader.timing.stopwatch import Stopwatch

NO_STOPWATCH = "speed is measured on a GPU only"


class Fixtures:
    """The fixtures of one grading."""

    def __init__(
        self,
        run: Run,
        student: Student,
        emit: Callable[[str, Any], None],
        stopwatch: Stopwatch | None,
    ) -> None:
        self._run = run
        self._student = student
        self._emit = emit
        self._stopwatch = stopwatch

    @pytest.fixture
    def student(self) -> Student:
        """The proxy of the submission."""
        return self._student

    @pytest.fixture
    def device(self) -> str:
        """Where tensors land in the worker."""
        return self._run.device

    @pytest.fixture
    def draw(self, request: pytest.FixtureRequest) -> Draw:
        """Random inputs of this test."""
        return Draw(self._run.seed, request.node.nodeid.partition("::")[2])

    @pytest.fixture
    def stopwatch(self) -> Stopwatch:
        """Races against the lab's baseline; there are none on a CPU."""
        if self._stopwatch is None:
            raise NotGraded(NO_STOPWATCH)
        return self._stopwatch

    @pytest.fixture
    def plot(self) -> Recorder:
        """Lines for the report."""
        return Recorder(self._emit)
