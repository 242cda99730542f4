"""Calls itself without end.

Expect:
    scale: error skipped
    score: 0
    says: RecursionError
"""


def scale(x, factor):
    return scale(x, factor)
