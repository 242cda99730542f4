"""Ends its process in a call.

Expect:
    scale: crashed skipped
    score: 0
    says: ended itself with status 0
"""

import os


def scale(x, factor):
    os._exit(0)
