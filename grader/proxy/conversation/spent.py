"""Where the seconds of a grading go: each moment counts for the innermost thing that is done."""

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager

JUDGE = "judge"  # what nothing else names: oracles, inputs, comparisons, pytest
WAITING = "waiting for the GPU"
AHEAD = "waiting for what is compiled ahead"
STARTING = "starting workers"
LOADING = "loading the submission"
FIRST_CALLS = "first calls"  # of a function in a worker: kernels are compiled then
CALLS = "calls"
CONTROLS = "controls: answers of ours"
COMPILING = "compiling kernels for GPUs that are not here"
VERIFYING = "races: sizes verified"
ALONE = "races: baseline alone"
WARMING = "races: first runs"
BLOCKS = "races: timed blocks"
LOOKING = "races: the guard looks"
REST = "races: the GPU comes to rest"
ROOFLINE = "races: roofline"


class Spent:
    """Counts seconds by what they are spent on; what is begun inside another stops that one."""

    def __init__(self, now: Callable[[], float] = time.perf_counter) -> None:
        self._now = now
        self._stack = [JUDGE]
        self._since = now()
        self._seconds: dict[str, float] = {}
        self._told: dict[str, float] = {}

    @contextmanager
    def on(self, what: str) -> Generator[None, None, None]:
        """Count what passes inside for ``what``, less what is begun in it."""
        self._pass()
        self._stack.append(what)
        try:
            yield
        finally:
            self._pass()
            self._stack.pop()

    def _pass(self) -> None:
        now = self._now()
        what = self._stack[-1]
        self._seconds[what] = self._seconds.get(what, 0.0) + now - self._since
        self._since = now

    def seconds(self) -> dict[str, float]:
        """Return the seconds of everything so far; their sum is the time that has passed."""
        self._pass()
        return {what: round(seconds, 3) for what, seconds in self._seconds.items()}

    def new(self) -> dict[str, float]:
        """Return the seconds since the last time that this was asked."""
        now = self.seconds()
        told, self._told = self._told, now
        return {
            what: new for what, seconds in now.items() if (new := seconds - told.get(what, 0.0)) > 0
        }
