"""A ceiling on the memory that the judge's objects take for what a submission gives them.

The kernel holds it, ``RLIMIT_DATA``: no copy, list or temporary gets past, whoever makes it. What
came from the submission lies in shared mappings, which are not counted here but by the channel.
"""

import os
import resource
import threading

PAGE = os.sysconf("SC_PAGE_SIZE")
DATA = 5  # the place of private writable pages in statm


class Ceiling:
    """Counts, over one test, what stays when lent objects have worked, and limits what they take.

    What is given back between their uses is theirs: they may have been dropped.
    """

    def __init__(self, most: int) -> None:
        """``most`` are bytes: what stays and what is needed for a moment, together."""
        self._most = most
        self._lock = threading.Lock()
        self._at_work = 0  # threads
        self._before = 0  # bytes of the process when the first of them began
        self._after: int | None = None  # when the last of them ended
        self._kept = 0
        self._normal = (0, 0)

    def begin(self) -> None:
        """Begin a test: what stayed of the one before is forgotten."""
        with self._lock:
            self._after, self._kept = None, 0

    def lower(self) -> None:
        """Let the process take no more than may still be kept, until it is lifted as often."""
        with self._lock:
            if self._at_work == 0:
                self._before = now = data_bytes()
                if self._after is not None:
                    self._kept = max(0, self._kept - max(0, self._after - now))
                self._normal = resource.getrlimit(resource.RLIMIT_DATA)
                limit, hard = max(0, now + self._most - self._kept), self._normal[1]
                if hard == resource.RLIM_INFINITY or limit < hard:
                    resource.setrlimit(resource.RLIMIT_DATA, (limit, hard))
            self._at_work += 1

    def lift(self) -> None:
        """Lift what was lowered."""
        with self._lock:
            self._at_work -= 1
            if self._at_work == 0:
                # First of all: there may be no memory left.
                resource.setrlimit(resource.RLIMIT_DATA, self._normal)
                self._after = data_bytes()
                self._kept = max(0, self._kept + self._after - self._before)


def data_bytes() -> int:
    """Return how many bytes of its own this process may write to."""
    with open("/proc/self/statm", "rb", buffering=0) as file:
        return int(file.read().split()[DATA]) * PAGE
