"""Limits of a worker where no control group can be made: a thread that looks, and kills it."""

import contextlib
import itertools
import os
import signal
import threading
from pathlib import Path

from grader.sandbox.confinement import share

POLL_SECONDS = 0.02
SHARE_POLLS = 10  # after which it looks at what runs


def descendants(pid: int) -> list[int]:
    """Return the process and all below it; those that end meanwhile are left out."""
    found = [pid]
    for parent in found:
        with contextlib.suppress(OSError):
            for thread in os.listdir(f"/proc/{parent}/task"):
                children = Path(f"/proc/{parent}/task/{thread}/children").read_text()
                found.extend(int(child) for child in children.split())
    return found


class Watcher:
    """Polls the processes and kills them all once they are over a limit."""

    def __init__(self, pid: int, memory: int, processes: int, shares: int = 1) -> None:
        self._pid = pid
        self._shares = shares
        # What is there before the submission is loaded is ours.
        self._memory = memory + self._proportional()
        self._processes = processes
        self._reason = ""
        self._stop = threading.Event()
        threading.Thread(target=self._watch, daemon=True).start()

    def _resident(self) -> int:
        pages = 0
        for pid in descendants(self._pid):
            with contextlib.suppress(OSError, ValueError, IndexError):
                pages += int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")

    def _proportional(self) -> int:
        """Return bytes in use, with pages that processes share counted once."""
        total = 0
        for pid in descendants(self._pid):
            with contextlib.suppress(OSError, ValueError, StopIteration):
                lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
                total += int(next(line for line in lines if line.startswith("Pss:")).split()[1])
        return total << 10 or self._resident()

    def _watch(self) -> None:
        for poll in itertools.count(1):
            if self._stop.wait(POLL_SECONDS):
                return
            # Memory of our own may be used up for a while (``proxy/loans/memory_limit``).
            with contextlib.suppress(MemoryError):
                if self._look(poll):
                    return

    def _look(self, poll: int) -> bool:
        """Tell whether all was over a limit, and is killed."""
        members = descendants(self._pid)
        if poll % SHARE_POLLS == 0:
            nice = share.niceness(share.running(members), self._shares)
            if nice:
                share.make_nice(members, nice)
        # Adding up is quick and counts shared pages again; only when it alarms we look closer.
        if self._resident() > self._memory and self._proportional() > self._memory:
            self._reason = "memory"
        elif len(members) > self._processes:
            self._reason = "processes"
        if self._reason:
            for pid in reversed(members):
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
        return bool(self._reason)

    def why_killed(self) -> str:
        """Return what the watcher killed for."""
        return self._reason

    def used(self) -> int:
        """Return bytes in use, with pages that processes share counted once."""
        return self._proportional()

    def allow(self, more: int) -> None:
        """Raise the limit of memory by so many bytes."""
        self._memory += more

    def close(self) -> None:
        """Stop watching."""
        self._stop.set()
