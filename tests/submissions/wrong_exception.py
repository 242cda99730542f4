"""Raises.

Expect:
    scale: error skipped
    store: skipped
    loop: skipped
    score: 0
    says: ZeroDivisionError: division by zero\n  line 9 in half: return x * (factor / 0)
"""


def half(x, factor):
    return x * (factor / 0)


def scale(x, factor):
    return half(x, factor)
