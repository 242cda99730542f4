"""Returns more text than a message may hold.

Expect:
    scale: error skipped
    score: 0
    says: at most 8 MiB
"""


def scale(x, factor):
    return "a" * (20 << 20)
