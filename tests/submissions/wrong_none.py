"""Returns nothing.

Expect:
    scale: failed skipped
    score: 0
    says: should be a tensor, not None
"""


def scale(x, factor):
    x * factor
