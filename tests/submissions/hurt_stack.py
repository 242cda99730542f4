"""Overflows the stack of its process.

Expect:
    scale: crashed skipped
    store: skipped
    loop: skipped
    score: 0
    says: SIGSEGV
"""

import sys


def scale(x, factor):
    sys.setrecursionlimit(1 << 30)
    deep = ()
    for _ in range(3_000_000):
        deep = (deep,)
    return hash(deep)
