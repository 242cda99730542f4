"""Flattens the result.

Expect:
    scale: failed skipped
    score: 0
    says: has shape [30], expected [2, 3, 5]
"""


def scale(x, factor):
    return (x * factor).flatten()
