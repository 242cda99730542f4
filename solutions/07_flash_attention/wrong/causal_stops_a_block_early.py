"""The block of keys that holds the diagonal's end is left out.

From: variants/simple.py
Fails: triton, varlen, speed
"""

LINES = {
    "_forward": r"""
-         stop = tl.maximum(0, tl.minimum(S, first + BLOCK_M + S - T))
+         stop = tl.maximum(0, tl.minimum(S, first + BLOCK_M + S - T - BLOCK_N))
""",
}
