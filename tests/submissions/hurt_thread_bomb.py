"""Starts threads without end.

Expect:
    scale: timeout|crashed skipped
    score: 0
"""

import contextlib
import threading
import time


def scale(x, factor):
    while True:
        with contextlib.suppress(RuntimeError):
            threading.Thread(target=time.sleep, args=(1000,)).start()
