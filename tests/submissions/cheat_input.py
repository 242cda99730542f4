"""Returns the input.

Expect:
    scale: failed skipped
    store: skipped
    loop: skipped
    score: 0
    says: values of the result are off
"""


def scale(x, factor):
    return x
