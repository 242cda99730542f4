"""Always returns float32, and knows no forbidden factor.

Three of its eight tests fail: 95 x 5/8.

Expect:
    scale: passed failed passed failed
    score: 59.375
    says: has dtype float32, expected float16
    says: nothing was raised
"""


def scale(x, factor):
    return x.float() * factor
