"""What a worker prints: all of it is read, so that none can block, and only the start is kept."""

import contextlib
import os
import select
import threading
import time
from typing import IO

AGAIN_SECONDS = 0.05
MOST_READS = 64  # of 64 KiB without letting go: who prints without end does not hold up the judge


class Printed:
    """Reads a pipe in a thread of its own and keeps ``limit`` bytes until they are forgotten."""

    def __init__(self, pipe: IO[bytes], limit: int) -> None:
        self._pipe = pipe
        self._limit = limit
        self._kept = bytearray()
        self._reading = threading.Lock()
        self._unread = True
        self._abandoned = False
        self._thread = threading.Thread(target=self._drain, daemon=True)
        self._thread.start()

    def text(self, *, wait: bool = True) -> str:
        """Return what was printed; ``wait`` for what is in the pipe, or with the thread."""
        if wait:
            self._take()
        return bytes(self._kept).decode("utf-8", errors="replace")

    def forget(self) -> None:
        """Start afresh."""
        self._kept.clear()

    def close(self, seconds: float = 5.0) -> None:
        """Read to the end; if somebody can still write to the pipe, it stays open until then."""
        self._thread.join(timeout=seconds)
        with self._reading:
            self._abandoned = self._unread
        if not self._abandoned:
            self._pipe.close()

    def _drain(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            while self._goes_on():
                pass
        with self._reading:
            self._unread = False
        if self._abandoned:
            self._pipe.close()

    def _goes_on(self) -> bool:
        """Wait for what comes, and keep it; tell whether more may come."""
        try:
            return has_come(self._pipe.fileno()) and self._take()
        except MemoryError:  # it may be used up for a while (``proxy/loans/memory_limit``)
            time.sleep(AGAIN_SECONDS)
            return True

    def _take(self) -> bool:
        """Keep what has arrived and tell whether more may come."""
        with self._reading:
            for _ in range(MOST_READS):
                if not has_come(self._pipe.fileno(), wait=0):
                    break
                piece = os.read(self._pipe.fileno(), 1 << 16)
                if not piece:
                    return False
                self._kept += piece[: max(self._limit - len(self._kept), 0)]
        return True


def has_come(fd: int, wait: int | None = None) -> bool:
    """Wait, at most that many milliseconds, until something can be read there, also an end."""
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    return bool(poll.poll(wait))
