"""Returns NaN everywhere.

Expect:
    scale: failed skipped
    score: 0
    says: holds NaN in 30 of 30 values
"""


def scale(x, factor):
    return x * float("nan")
