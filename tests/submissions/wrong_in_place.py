"""Multiplies in place.

Expect:
    scale: passed failed passed failed
    store: error skipped
    loop: skipped
    score: 33.75
    says: was modified
"""


def scale(x, factor):
    return x.mul_(factor)
