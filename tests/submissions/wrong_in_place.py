"""Multiplies in place.

Expect:
    scale: passed failed passed failed
    score: 71.25
    says: was modified
"""


def scale(x, factor):
    return x.mul_(factor)
