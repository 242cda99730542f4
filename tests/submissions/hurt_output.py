"""Prints without end.

Expect:
    scale: timeout skipped
    score: 0
    says: did not end within its time limit of 2 s
"""


def scale(x, factor):
    while True:
        print("a" * 10_000, flush=True)
