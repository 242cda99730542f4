"""How one grading uses the GPU: in turn with others, and whose fault it is when it fails there."""

import time

import pytest

from grader.errors import StudentMemory, SubmissionFault
from grader.judge.plugin.ahead import Ahead
from grader.judge.plugin.items import takes
from grader.proxy.conversation.spent import WAITING
from grader.proxy.student import Student
from grader.sandbox.confinement import gpu


class GpuUse:
    """The place of a grading on the GPU: for a task beside others, alone for all that is timed."""

    def __init__(self, student: Student, ahead: Ahead | None) -> None:
        self._student = student
        self._ahead = ahead
        self._lease = gpu.lease()
        self._user: str | None = ""  # the task that it was taken for; None: all that is timed
        self._alone_since: float | None = None
        self._is_lost = False

    def take(self, task: str, item: pytest.Item) -> float:
        """Have the GPU for a task, or alone; return the seconds of waiting, which are ours."""
        alone = takes(item, "tier")
        if self._ahead is not None:
            # Who waits to have the GPU alone may wait for us, and before our forerunners.
            self._ahead.wait_for(item, self._in_the_way)
            if alone:
                self._ahead.close()
        user = None if alone else task
        # Between two tests others may race: one test of another lab can take as long as a race.
        if user == self._user and not self._in_the_way():
            self._student.give_compiled_()
            return 0.0
        # Nothing of this submission is on the GPU while others may have it.
        self._student.take_compiled_()
        self._student.close_()
        with self._student.spent_.on(WAITING):
            waited = self._lease.take(alone=alone)
        self._user = user
        self._alone_since = time.monotonic() if alone else None
        return waited

    def _in_the_way(self) -> bool:
        return bool(self._user) and self._lease.awaited

    @property
    def alone_seconds(self) -> float | None:
        """For how long nobody else could use it; None if others can."""
        return None if self._alone_since is None else time.monotonic() - self._alone_since

    def trouble(self, error: SubmissionFault) -> str:
        """Return what is wrong with the GPU, if that may be what the submission met.

        Asked once the submission is gone: it may be what held all the memory.
        """
        if not (isinstance(error, StudentMemory) or "CUDA" in str(error)):
            return ""
        trouble = gpu.lasting_trouble(patient=not self._is_lost)
        self._is_lost = bool(trouble)
        return trouble
