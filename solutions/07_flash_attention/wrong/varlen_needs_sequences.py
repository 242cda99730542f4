"""The longest of no sequences is asked for: B = 0 fails.

From: variants/simple.py
Fails: varlen
"""

LINES = {
    "flash_attention_varlen": r"""
-     if o.numel() == 0:
-         return o
      BLOCK_M, BLOCK_N, warps, stages = _sizes(q)
-     row_blocks = triton.cdiv(int(cu_seqlens_q.diff().max()), BLOCK_M)
+     row_blocks = triton.cdiv(int(cu_seqlens_q.diff().max()), BLOCK_M)
+     if o.numel() == 0:
+         return o
""",
}
