"""Never ends, and catches everything.

Expect:
    scale: timeout skipped
    score: 0
    says: did not end within its time limit of 2 s
"""


def scale(x, factor):
    while True:
        try:
            while True:
                pass
        except BaseException:
            pass
