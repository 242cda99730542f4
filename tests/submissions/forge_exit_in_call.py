"""Leaves with a good status in a call.

Expect:
    scale: error skipped
    score: 0
    says: SystemExit: 0
"""

import sys


def scale(x, factor):
    sys.exit(0)
