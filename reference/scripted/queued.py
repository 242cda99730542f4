"""A device that works on after calls return, and a clock that moves only when something is done."""

from collections.abc import Iterable


class Device:
    """Notes its calls. Each piece of work takes its own time, and there is some in the queue."""

    def __init__(self, work: Iterable[float], launch: float, pending: float, now: float) -> None:
        self.calls: list[str] = []
        self._work = iter(work)
        self._launch = launch
        self._now = now
        self._done = now + pending  # when what is queued will be done

    def fn(self) -> None:
        """Queue the next piece of work; that takes the host as long as a launch."""
        self.calls.append("fn")
        self._now += self._launch
        self._done = max(self._now, self._done) + next(self._work, 1.0)

    def clock(self) -> float:
        """Return the time."""
        self.calls.append("clock")
        return self._now

    def synchronize(self) -> None:
        """Wait for all work."""
        self.calls.append("synchronize")
        self._now = max(self._now, self._done)
