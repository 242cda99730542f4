"""Returns the right tensor inside a tuple.

Expect:
    scale: failed skipped
    store: skipped
    loop: skipped
    score: 0
    says: should be a tensor, not a tuple
"""


def scale(x, factor):
    return (x * factor,)
