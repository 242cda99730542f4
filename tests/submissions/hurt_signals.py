"""Kills all that it can reach.

Expect:
    scale: crashed skipped
    score: 0
    says: SIGKILL
"""

import contextlib
import os
import signal


def scale(x, factor):
    for pid in (-1, 1, os.getppid(), 0):
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)
    return x * factor
