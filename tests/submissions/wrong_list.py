"""Returns a list of numbers.

Expect:
    scale: failed skipped
    score: 0
    says: should be a tensor, not a list
"""


def scale(x, factor):
    return (x * factor).tolist()
