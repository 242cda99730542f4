"""Opens files without end.

Expect:
    scale: error skipped
    score: 0
    says: Too many open files
"""


def scale(x, factor):
    kept = []
    while True:
        kept.append(open("/dev/null"))
