"""When a call must have ended, and what is said of one that has not."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from grader.errors import StudentTimeout
from grader.sandbox.pace import PACE

PATIENCE = 6  # times as long as a call: for an import at its second attempt


@dataclass(slots=True)
class Clock:
    """Absolute deadlines on the clock of ``PACE``; they cover sends and callbacks too."""

    call_seconds: float
    test: float = math.inf
    grading: float = math.inf
    limits: list[float] = field(default_factory=list)

    def deadline(self, least: float = 0.0) -> float:
        """Return when a call that starts now must have ended; it may take ``least`` seconds."""
        return min(PACE.now() + self.seconds(least), self.test, self.grading)

    def late(self, header: dict[str, Any], least: float, why: str = "") -> StudentTimeout:
        """Return the fault of a request that runs past the deadline that it was given."""
        now = PACE.now()
        if now >= self.grading:
            return StudentTimeout(f"the grading ran past its time limit{why}")
        if now >= self.test:
            return StudentTimeout(f"the calls of this test together ran past its time limit{why}")
        named = header.get("function") or header.get("name") or header["op"]
        target = header.get("target") or [named]
        name = "the call" if target[-1] == "__call__" else target[-1]
        limit = f"its time limit of {self.seconds(least):g} s"
        return StudentTimeout(f"{name} did not end within {limit}{why}")

    def seconds(self, least: float = 0.0) -> float:
        """Return how long a call may take, whatever is left of its test."""
        return max(min([self.call_seconds, *self.limits]), least)


@dataclass(slots=True)
class Imports:
    """Lets one import of a grading be late: a machine with much to do looks like that too."""

    clock: Clock
    was_late: bool = False

    def in_time(self, load: Callable[[float], None]) -> bool:
        """Load with the seconds that it may take at least; False: once more, in another worker."""
        started = PACE.now()
        patience = PATIENCE * self.clock.call_seconds if self.was_late else 0.0
        self.clock.test += patience
        try:
            load(patience)
        except StudentTimeout:
            if self.was_late:
                raise
            self.was_late = True
            self.clock.test += PACE.now() - started
            return False
        return True
