"""Offsets are cut out by bits: right where P is a power of two.

Fails: triton, speed
"""

LINES = {
    "_attend": r"""
-         offset = positions % size
+         offset = positions & (size - 1)
""",
}
