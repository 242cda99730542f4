"""Is a generator.

Expect:
    scale: failed skipped
    score: 0
    says: should be a tensor, not a generator
"""


def scale(x, factor):
    yield x * factor
