"""Correct, but a forked child answers from the first call on and its parent sleeps.

The values are right, so they count; what matters is that no process outlives the grading.

Expect:
    scale: passed
    score: 95
"""

import math
import os
import time


def scale(x, factor):
    if os.getpid() == FIRST and os.fork():
        time.sleep(1000)
    if not math.isfinite(factor):
        raise ValueError("factor must be finite")
    return (x.float() * factor).to(x.dtype)


FIRST = os.getpid()
