"""Returns a list of millions.

Expect:
    scale: error skipped
    score: 0
    says: holds too many items
"""


def scale(x, factor):
    return [1] * 3_000_000
