"""The first query of the kernel stands on the first key, packed or not.

From: variants/simple.py
Fails: triton, varlen, speed
"""

LINES = {
    "_forward": r"""
-     last = rows + (S - T) if CAUSAL else tl.full([BLOCK_M], 2147483647, tl.int32)
+     last = rows if CAUSAL else tl.full([BLOCK_M], 2147483647, tl.int32)
...
-         whole = tl.maximum(0, tl.minimum(S, first + S - T + 1))
-         stop = tl.maximum(0, tl.minimum(S, first + BLOCK_M + S - T))
+         whole = tl.maximum(0, tl.minimum(S, first + 1))
+         stop = tl.maximum(0, tl.minimum(S, first + BLOCK_M))
""",
}
