"""Fills every place that it may write to.

Expect:
    scale: memory|error|timeout skipped
    score: 0
"""

import contextlib


def scale(x, factor):
    number = 0
    while True:
        number += 1
        for place in ("/tmp", "/dev/shm", "/folder", "/var/tmp", "/"):
            with contextlib.suppress(OSError), open(f"{place}/{number}", "wb") as file:
                file.write(b"a" * (8 << 20))
