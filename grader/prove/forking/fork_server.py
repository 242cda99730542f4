"""What forks workers for files of ours alone: nothing confines them.

It runs on a stage, as a worker does, and sees what a worker sees; ``forked`` asks it. How it forks
and buries is in ``worker/fork_server``.
"""

import contextlib
import os
import signal
from collections.abc import Collection
from pathlib import Path

from grader.worker import confinement
from grader.worker.fork_server import Birth, run

PR_SET_CHILD_SUBREAPER = 36


def main() -> None:
    """Fork workers until nobody can ask for one; what they leave behind comes to us."""
    confinement.prctl(PR_SET_CHILD_SUBREAPER, 1)
    run(begin, end_orphans)


def begin(birth: Birth) -> None:
    """Become a worker in a session, a folder and an environment of its own."""
    birth.announce()
    os.setsid()
    os.environ.clear()
    os.environ.update(birth.request["environment"])
    os.chdir(birth.request["folder"])
    birth.serve()


def end_orphans(alive: Collection[int]) -> None:
    """Kill the processes that came to us, but those of workers that are alive."""
    children = Path("/proc/thread-self/children").read_text().split()
    for pid in map(int, children):
        with contextlib.suppress(OSError):
            if pid not in alive and os.getsid(pid) not in alive:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
