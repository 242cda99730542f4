"""A ceiling on the memory that the judge's objects take for what a submission gives them.

The kernel holds it, ``RLIMIT_DATA``: no copy, list or temporary gets past, whoever makes it. What
came from the submission lies in shared mappings, which are not counted here but by the channel.
"""

import os
import resource
import threading

PAGE = os.sysconf("SC_PAGE_SIZE")
DATA = 5  # the place of private writable pages in statm


class MemoryLimit:
    """Counts, over one test, what its calls leave behind, and limits what lent objects take.

    All that grows during a call is the submission's: it alone says what is done there. What is
    given back between calls is too: it may have been dropped.
    """

    def __init__(self, most: int) -> None:
        """``most`` are bytes: what stays and what is needed for a moment, together."""
        self._most = most
        self._lock = threading.Lock()
        self._at_work = 0  # threads
        self._start: int | None = None  # bytes of the process when its objects began, in this call
        self._end: int | None = None  # when the last of them ended
        self._kept = 0  # of the calls before
        self._limit = 0  # of now
        self._normal = (0, 0)

    def begin(self) -> None:
        """Begin a test: what stayed of the one before is forgotten."""
        with self._lock:
            self._start = self._end = None
            self._kept = 0

    def begin_call(self) -> None:
        """Begin a call from outside; one that no object of ours is used in costs nothing."""
        with self._lock:
            if self._at_work == 0 and self._start is not None and self._end is not None:
                self._kept = max(0, self._kept + self._end - self._start)
                self._start = None

    def lower(self) -> None:
        """Let the process take no more than may still be kept, until it is lifted as often."""
        with self._lock:
            if self._at_work == 0:
                if self._start is None:
                    self._start = data_bytes()
                    given_back = 0 if self._end is None else max(0, self._end - self._start)
                    self._kept = max(0, self._kept - given_back)
                self._limit = max(0, self._start + self._most - self._kept)
                self._normal = resource.getrlimit(resource.RLIMIT_DATA)
                hard = self._normal[1]
                if hard == resource.RLIM_INFINITY or self._limit < hard:
                    resource.setrlimit(resource.RLIMIT_DATA, (self._limit, hard))
            self._at_work += 1

    def check(self) -> None:
        """Raise MemoryError where what was made outside is what is used up inside."""
        if data_bytes() > self._limit:
            raise MemoryError

    def lift(self) -> None:
        """Lift what was lowered."""
        with self._lock:
            self._at_work -= 1
            if self._at_work == 0:
                # First of all: there may be no memory left.
                resource.setrlimit(resource.RLIMIT_DATA, self._normal)
                self._end = data_bytes()


def data_bytes() -> int:
    """Return how many bytes of its own this process may write to."""
    with open("/proc/self/statm", "rb", buffering=0) as file:
        return int(file.read().split()[DATA]) * PAGE
