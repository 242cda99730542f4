"""Aborts.

Expect:
    scale: crashed skipped
    score: 0
    says: SIGABRT
"""

import os


def scale(x, factor):
    os.abort()
