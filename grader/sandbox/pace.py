"""The clock of deadlines: it stands still while the machine keeps a submission from running.

A limit says how long code may take, and on a machine that is asked for ten times what it has code
takes ten times as long. So the time that a worker wanted a core and got none does not count, nor
does a gap in which this process itself did not run. What counts is all else: computing, and also
sleeping or waiting, for then nothing was kept from it. A submission that takes the cores from
itself, by more threads than there are, has had them and gains nothing; nor does one whose threads
end, since the kernel forgets what those have had.
"""

import contextlib
import os
import random
import re
import threading
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from grader.sandbox.confinement.limits import descendants

BEAT_SECONDS = 0.25
GAP_SECONDS = 1.0  # a beat that is later than this missed a machine that stood still
FAIR_SHARE = 0.5  # of one core: who had as much was not kept from running
_NUMBERS = re.compile(r"^NSpid:\t\d+((?:\t\d+)+)$", re.MULTILINE)
_DEEPER = 1 << 32


@dataclass(frozen=True, slots=True)
class Reading:
    """What the kernel says of threads, by their numbers: seconds on a core, and waiting for one.

    ``own`` are the numbers that those of a worker have in its own namespace, which gives them out
    one after the other, each larger than all of namespaces around it: by the process that is
    watched, then by thread.
    """

    at: float
    threads: dict[int, tuple[float, float]]
    own: Mapping[int, Mapping[int, int]] = field(default_factory=dict[int, Mapping[int, int]])


def _restless(before: Reading, now: Reading) -> set[int]:
    """Return the threads of workers of which one has ended since, be it one never read."""
    found: set[int] = set()
    for watched in before.own.keys() & now.own.keys():
        known, own = before.own[watched], now.own[watched]
        given = max(own.values(), default=0) - max(known.values(), default=0)
        if known.keys() - own.keys() or given > len(own.keys() - known.keys()):
            found |= own.keys()
    return found


def lost_between(before: Reading, now: Reading) -> float:
    """Return how much of the time between two readings the threads were kept from running."""
    passed, ran, waited = now.at - before.at, 0.0, 0.0
    restless = _restless(before, now)  # they may have waited for the one that ended
    for thread, (on_core, in_queue) in now.threads.items():
        known = before.threads.get(thread, (0.0, in_queue))
        ran += on_core - known[0]
        if thread not in restless:
            waited = max(waited, in_queue - known[1])
    if ran >= FAIR_SHARE * passed:
        return 0.0
    gap = passed - BEAT_SECONDS
    stalled = gap if gap > GAP_SECONDS else 0.0
    return min(max(waited, stalled), passed - ran)


def read_threads(workers: Mapping[int, Iterable[int]], known: Reading | None = None) -> Reading:
    """Read the kernel's accounts of all threads of some workers' processes, and of this one.

    Those that end meanwhile are left out. What was ``known`` of their numbers stays.
    """
    threads: dict[int, tuple[float, float]] = {}
    own: dict[int, dict[int, int]] = {}
    for watched, pids in workers.items():
        found = _accounts(pids)
        threads |= found
        before = known.own.get(watched, {}) if known is not None else {}
        own[watched] = {t: before[t] if t in before else _own_number(t) for t in found}
    return Reading(time.monotonic(), threads | _accounts([os.getpid()]), own)


def _own_number(thread: int) -> int:
    """Return the number of a thread in its own namespace; 0 where it has none of its own."""
    with contextlib.suppress(OSError):
        if found := _NUMBERS.search(Path(f"/proc/{thread}/status").read_text("latin-1")):
            depth = found[1].split()
            return len(depth) * _DEEPER + int(depth[-1])
    return 0


def _accounts(pids: Iterable[int]) -> dict[int, tuple[float, float]]:
    threads: dict[int, tuple[float, float]] = {}
    for pid in pids:
        with contextlib.suppress(OSError):
            for thread in os.listdir(f"/proc/{pid}/task"):
                with contextlib.suppress(OSError, ValueError):
                    text = Path(f"/proc/{pid}/task/{thread}/schedstat").read_text()
                    on_core, in_queue, _ = text.split()
                    threads[int(thread)] = int(on_core) / 1e9, int(in_queue) / 1e9
    return threads


class Pace:
    """Counts, some five times a second, what the machine has taken from watched workers."""

    def __init__(self) -> None:
        self._watched: set[int] = set()
        self._last: Reading | None = None
        self._lost = 0.0
        self._lock = threading.Lock()
        self._beats = threading.Event()

    def now(self) -> float:
        """Return seconds of a clock that never runs faster than the monotonic one."""
        return time.monotonic() - self._lost

    def watch(self, pid: int) -> None:
        """Count for a process and all below it, until it is forgotten."""
        with self._lock:
            self._watched.add(pid)
            if not self._beats.is_set():
                self._beats.set()
                threading.Thread(target=self._beat, daemon=True).start()

    def forget(self, pid: int) -> None:
        """Count no longer for a process."""
        with self._lock:
            self._watched.discard(pid)
            self._last = None

    def _beat(self) -> None:
        draw = random.SystemRandom()  # at no moment that can be known
        while True:
            time.sleep(draw.uniform(0.5, 1.0) * BEAT_SECONDS)
            # Memory may be used up for a while (``memory_limit``); the clock goes on after that.
            with contextlib.suppress(MemoryError):
                self.count()

    def count(self) -> None:
        """Add what was lost since the last count."""
        with self._lock:
            if not self._watched:
                self._last = None
                return
            # With its own threads: while the judge packs and compares, the worker waits for it.
            workers = {pid: descendants(pid) for pid in self._watched}
            reading = read_threads(workers, self._last)
            if self._last is not None:
                self._lost += lost_between(self._last, reading)
            self._last = reading


PACE = Pace()  # of this process, which grades one submission
