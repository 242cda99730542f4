"""Returns a tensor without values.

Expect:
    scale: failed skipped
    score: 0
    says: should be a tensor, not a tensor on meta
"""


def scale(x, factor):
    return (x * factor).to("meta")
