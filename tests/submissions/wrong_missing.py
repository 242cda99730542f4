"""Defines nothing of what is asked.

Expect:
    scale: error skipped
    score: 0
    says: echo.py defines no scale
"""


def Scale(x, factor):
    return x * factor
