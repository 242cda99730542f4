"""A thread of its own talks to the judge all the time.

Expect:
    scale: crashed skipped
    score: 0
"""

import os
import sys
import threading

SPOKE = threading.Event()


def talk():
    while True:
        try:
            os.write(int(sys.argv[1]), b"\0\0\0\x02\0\0\0\0{}")
        except OSError:
            SPOKE.wait(0.01)
        SPOKE.set()


threading.Thread(target=talk, daemon=True).start()
SPOKE.wait()


def scale(x, factor):
    return x * factor
