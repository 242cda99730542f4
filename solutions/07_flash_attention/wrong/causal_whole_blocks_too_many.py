"""Blocks of keys count as whole if the last row of the block of queries sees them.

From: variants/simple.py
Fails: triton, varlen, speed
"""

LINES = {
    "_forward": r"""
-         whole = tl.maximum(0, tl.minimum(S, first + S - T + 1))
+         whole = tl.maximum(0, tl.minimum(S, first + BLOCK_M + S - T))
""",
}
