"""Always returns float32, and knows no forbidden factor.

Three of its eight tests fail: 45 x 5/8.

Expect:
    scale: passed failed passed failed
    store: error skipped
    loop: skipped
    score: 28.125
    says: has dtype float32, expected float16
    says: nothing was raised
"""


def scale(x, factor):
    return x.float() * factor
