"""Adds where it should multiply.

Expect:
    scale: failed skipped
    score: 0
    says: values of the result are off
"""


def scale(x, factor):
    return x + factor
