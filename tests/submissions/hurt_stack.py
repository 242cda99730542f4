"""Overflows the stack of its process.

Expect:
    scale: crashed skipped
    score: 0
    says: SIGSEGV
"""

import sys


def scale(x, factor):
    sys.setrecursionlimit(1 << 30)
    deep = ()
    for _ in range(300_000):
        deep = (deep,)
    return hash(deep)
