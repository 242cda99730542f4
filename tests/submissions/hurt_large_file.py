"""Writes one file without end.

Expect:
    scale: error skipped
    score: 0
    says: File too large
"""


def scale(x, factor):
    with open("/tmp/large", "wb") as file:
        while True:
            file.write(b"a" * (1 << 20))
