"""Writes a good verdict to every open descriptor.

Expect:
    scale: crashed skipped
    score: 0
"""

import contextlib
import os


def scale(x, factor):
    for fd in range(256):
        with contextlib.suppress(OSError):
            os.write(fd, b'["test", {"verdict": "passed"}]\n["end", 0]\n')
    return x * factor
