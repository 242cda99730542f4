"""Forks without end.

Expect:
    scale: timeout|crashed skipped
    score: 0
"""

import contextlib
import os


def scale(x, factor):
    while True:
        with contextlib.suppress(OSError):
            os.fork()
