"""When the judge looks at what of its own runs beside a submission: at moments that are drawn.

Before a call, while the worker waits, and while it works. A thread of ours does the latter; a look
takes half a millisecond, and the worker goes on meanwhile.
"""

import contextlib
import heapq
import itertools
import json
import math
import random
import threading
import time
from collections.abc import Callable, Generator
from typing import Any

from grader.errors import SubmissionFault, Tampered
from grader.sandbox.tripwire.layout import layout
from grader.sandbox.tripwire.process_memory import Gone, Refused, Unmapped
from grader.sandbox.tripwire.regions import Regions
from grader.sandbox.tripwire.tripwire import Tripwire

BEFORE = 1 / 16  # of all calls
MEANWHILE = 1 / 6  # of all calls; those under a probe always
FIRST = 0.00005, 0.2  # seconds into a call; every length between is as likely, by its logarithm
NEXT = 0.02, 0.5  # seconds between two looks
ANOTHER = "another process has answered in the worker's place"
TOUCHED = "the code changed the judge's own objects in its process: {}"


class SpotChecks:
    """The charts of a session's workers, and the thread that looks."""

    def __init__(self) -> None:
        self._charts: dict[str, Regions] = {}
        self._random = random.SystemRandom()
        self._due: list[tuple[float, int, Tripwire]] = []
        self._numbers = itertools.count()
        self._working: dict[int, Tripwire] = {}  # by number: calls that run
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    def known(self) -> list[str]:
        """Return what the charts are known by."""
        return [*self._charts]

    def tripwire(self, pid: int, told: Any) -> Tripwire | None:
        """Return the tripwire of a worker that told its own objects; None if there can be none.

        It has not heard of a submission yet, so it is believed.
        """
        known = layout()
        if known is None or not pid:
            return None
        try:
            digest, text, own = told
            if text:
                self._charts[digest] = Regions(known, json.loads(text))
            return Tripwire(pid, known, self._charts[digest], json.loads(own))
        except (Refused, Gone, Unmapped, OSError, ValueError, KeyError):
            return None

    def is_drawn(self, share: float) -> bool:
        """Draw whether to look."""
        return self._random.random() < share

    @contextlib.contextmanager
    def during(self, tripwire: Tripwire, share: float) -> Generator[None, None, None]:
        """Look while what is inside runs, if that is drawn."""
        if not self.is_drawn(share):
            yield
            return
        number = next(self._numbers)
        with self._changed:
            self._working[number] = tripwire
            heapq.heappush(self._due, (self._moment(FIRST), number, tripwire))
            self._changed.notify()
            if self._thread is None:
                self._thread = threading.Thread(target=self._stand, daemon=True)
                self._thread.start()
        try:
            yield
        finally:
            with self._changed:
                del self._working[number]

    def _moment(self, between: tuple[float, float]) -> float:
        return time.monotonic() + math.exp(self._random.uniform(*map(math.log, between)))

    def _stand(self) -> None:
        while True:
            # Memory may be used up for a while (``loans/memory_limit``); it looks again after that.
            with contextlib.suppress(MemoryError):
                self._next().look()

    def _next(self) -> Tripwire:
        """Wait for the next moment, and draw the one after it."""
        with self._changed:
            while True:
                while self._due and self._due[0][1] not in self._working:
                    heapq.heappop(self._due)
                left = self._due[0][0] - time.monotonic() if self._due else None
                if left is None or left > 0:
                    self._changed.wait(left)
                    continue
                _, number, tripwire = self._due[0]
                heapq.heapreplace(self._due, (self._moment(NEXT), number, tripwire))
                return tripwire


SPOT_CHECKS = SpotChecks()


class Lookout:
    """What of one worker is looked at; nothing as long as it has told of nothing."""

    def __init__(
        self, sender: Callable[[], int], end: Callable[[SubmissionFault], BaseException]
    ) -> None:
        """``sender`` tells which process has answered last; ``end`` ends the worker."""
        self._sender = sender
        self._end = end
        self._tripwire: Tripwire | None = None

    def begin(self, pid: int, told: Any) -> None:
        """Look for the first time, at a worker that has not heard of the submission."""
        self._tripwire = SPOT_CHECKS.tripwire(pid, told)

    def look(self) -> None:
        """Raise Tampered if our objects were changed; the worker waits."""
        if self._tripwire is not None:
            self._tripwire.look()
            self._assert_untouched(self._tripwire)

    @contextlib.contextmanager
    def during(self, share: float) -> Generator[None, None, None]:
        """Look now, if that is drawn, and while what is inside runs, if that is; never for 0."""
        wire = self._tripwire
        if wire is None:
            yield
            return
        if share and SPOT_CHECKS.is_drawn(BEFORE):
            self.look()
        try:
            with SPOT_CHECKS.during(wire, share):
                yield
        finally:
            self._assert_untouched(wire)

    def _assert_untouched(self, wire: Tripwire) -> None:
        """Raise Tampered, over whatever else came of it, if a look has found that."""
        if wire.found:
            raise self._end(Tampered(TOUCHED.format(wire.found)))
        if self._sender() != wire.pid:
            raise self._end(Tampered(ANOTHER))

    def close(self) -> None:
        """Look no more."""
        if self._tripwire is not None:
            self._tripwire.close()
