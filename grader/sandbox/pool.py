"""Keep the next workers warm: each behind walls of its own, started and waiting, used once."""

from collections import deque
from collections.abc import Callable

from grader.errors import SandboxError
from grader.sandbox.process import WorkerProcess


class WarmPool:
    """Starts workers ahead of need: as many as are wanted, ``size`` of them at a time."""

    def __init__(
        self,
        start: Callable[[], WorkerProcess],
        size: int = 2,
        instead: Callable[[SandboxError], WorkerProcess] | None = None,
        most: int = 1 << 16,
    ) -> None:
        """``instead`` starts another for one that did not get ready, or raises.

        No more than ``most`` wait, however many are still to be taken.
        """
        self._start = start
        self._instead = instead
        self._size = size
        self._most = most
        self._waiting: deque[WorkerProcess] = deque()
        self._wanted = size

    def expect(self, count: int) -> None:
        """Say how many workers are still to be taken, so that none is started in vain."""
        self._wanted = min(count, self._most)
        self._fill()

    def _fill(self) -> None:
        starting = sum(not worker.is_ready() for worker in self._waiting)
        for _ in range(min(self._size - starting, self._wanted - len(self._waiting))):
            self._waiting.append(self._start())

    def take(self) -> WorkerProcess:
        """Return a ready worker and start its successor."""
        self._wanted = max(self._wanted, 1)
        self._fill()
        worker = self._waiting.popleft()
        self._wanted -= 1
        try:
            worker.wait_ready()
        except SandboxError as error:
            if self._instead is None:
                raise
            worker = self._instead(error)
            worker.wait_ready()
        self._fill()
        return worker

    def close(self) -> None:
        """Kill what was never used."""
        while self._waiting:
            self._waiting.popleft().kill()
