"""Raises.

Expect:
    scale: error skipped
    score: 0
    says: ZeroDivisionError
    says: line 12 in half: return x * (factor / 0)
"""


def half(x, factor):
    return x * (factor / 0)


def scale(x, factor):
    return half(x, factor)
