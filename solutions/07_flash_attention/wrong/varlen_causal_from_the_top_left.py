"""Within a packed sequence the first query stands on the first key.

From: variants/simple.py
Fails: varlen
"""

LINES = {
    "_forward": r"""
          v_ptr += k_start * stride_vs
+     offset = 0 if VARLEN else S - T
...
-     last = rows + (S - T) if CAUSAL else tl.full([BLOCK_M], 2147483647, tl.int32)
+     last = rows + offset if CAUSAL else tl.full([BLOCK_M], 2147483647, tl.int32)
...
-         whole = tl.maximum(0, tl.minimum(S, first + S - T + 1))
-         stop = tl.maximum(0, tl.minimum(S, first + BLOCK_M + S - T))
+         whole = tl.maximum(0, tl.minimum(S, first + offset + 1))
+         stop = tl.maximum(0, tl.minimum(S, first + BLOCK_M + offset))
""",
}
