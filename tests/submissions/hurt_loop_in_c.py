"""Never ends, inside the interpreter's own code.

Expect:
    scale: timeout skipped
    score: 0
    says: did not end within its time limit of 2 s
"""


def scale(x, factor):
    return sum(range(10**13))
