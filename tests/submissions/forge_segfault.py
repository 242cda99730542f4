"""Reads address 0.

Expect:
    scale: crashed skipped
    score: 0
    says: SIGSEGV
"""

import ctypes


def scale(x, factor):
    ctypes.string_at(0)
