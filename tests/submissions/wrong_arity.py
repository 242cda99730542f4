"""Takes too few arguments.

Expect:
    scale: error skipped
    score: 0
    says: TypeError
"""


def scale(x):
    return x
