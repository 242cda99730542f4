"""Returns infinities.

Expect:
    scale: failed skipped
    store: skipped
    loop: skipped
    score: 0
    says: is infinite
"""


def scale(x, factor):
    return x / 0.0
