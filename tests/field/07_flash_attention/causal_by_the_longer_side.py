"""The diagonal is moved for more keys than queries, and not for fewer.

From: variants/simple.py
Kind: positions
Report: https://github.com/NVIDIA/cutlass/issues/2336
Report: https://github.com/Dao-AILab/flash-attention/issues/1778
Fails: triton, varlen
"""

LINES = {
    "_forward": r"""
-     last = rows + (S - T) if CAUSAL else tl.full([BLOCK_M], 2147483647, tl.int32)
+     last = rows + tl.maximum(S - T, 0) if CAUSAL else tl.full([BLOCK_M], 2147483647, tl.int32)
...
-         whole = tl.maximum(0, tl.minimum(S, first + S - T + 1))
-         stop = tl.maximum(0, tl.minimum(S, first + BLOCK_M + S - T))
+         whole = tl.maximum(0, tl.minimum(S, first + tl.maximum(S - T, 0) + 1))
+         stop = tl.maximum(0, tl.minimum(S, first + BLOCK_M + tl.maximum(S - T, 0)))
""",
}
