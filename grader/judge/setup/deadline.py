"""When a grading must have ended, by the clock that stands still while the machine is at fault.

What trials of ours take is given back, up to a limit: each fault of a submission may lead to one,
and a session that lasts longer than it may is killed, which leaves tests that nobody has run.
"""

from collections.abc import Generator
from contextlib import contextmanager

from grader.sandbox.pace import PACE

MOST_GIVEN_BACK = 60.0  # seconds of one session; a right answer needs none


class Deadline:
    """The end of one grading."""

    def __init__(self, seconds: float) -> None:
        self.at = PACE.now() + seconds
        self._left = MOST_GIVEN_BACK

    @property
    def is_over(self) -> bool:
        """Whether it has passed."""
        return PACE.now() > self.at

    def extend(self, seconds: float) -> None:
        """Move it, for what others took."""
        self.at += seconds

    @contextmanager
    def given_back(self) -> Generator[None]:
        """Give back what a trial of ours inside takes, as long as there is something left."""
        started = PACE.now()
        try:
            yield
        finally:
            back = min(PACE.now() - started, self._left)
            self._left -= back
            self.at += back
