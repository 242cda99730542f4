"""A worker's share of the processor where no control group gives it one: by its niceness.

A worker that keeps many threads running would get as many shares. So what it starts is made as nice
as it takes for all of it to weigh what one process does, and stays so: without rights nothing gets
its priority back. Where the kernel groups processes by session, it is the session that is nice.
"""

import contextlib
import math
import os
from collections.abc import Iterable
from pathlib import Path

NICEST = 19
STEP = 1.25  # how much less a process weighs for each step of niceness
FREE = 2  # threads that run at once for a worker that may have one: libraries have helpers


def niceness(running: int, shares: int = 1) -> int:
    """Return how nice so many threads must be to weigh what ``shares`` of one do."""
    if running <= FREE * shares:
        return 0
    return min(NICEST, math.ceil(math.log(running / shares, STEP)))


def running(pids: Iterable[int]) -> int:
    """Count the threads of some processes that run or wait for a core now."""
    count = 0
    for pid in pids:
        with contextlib.suppress(OSError):
            for thread in os.listdir(f"/proc/{pid}/task"):
                with contextlib.suppress(OSError):
                    text = Path(f"/proc/{pid}/task/{thread}/stat").read_text("latin-1")
                    count += text.rpartition(")")[2].split()[0] == "R"
    return count


def make_nice(pids: Iterable[int], nice: int) -> None:
    """Make processes nicer than they are, and their sessions; what they start is as nice."""
    for pid in pids:
        with contextlib.suppress(OSError):
            for thread in os.listdir(f"/proc/{pid}/task"):
                if os.getpriority(os.PRIO_PROCESS, int(thread)) < nice:
                    os.setpriority(os.PRIO_PROCESS, int(thread), nice)
        with contextlib.suppress(OSError):  # no such grouping, or asked for too often
            Path(f"/proc/{pid}/autogroup").write_text(str(nice))
