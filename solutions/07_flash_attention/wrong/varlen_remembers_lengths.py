"""The number of blocks is kept by the shape of q: other lengths get those of the first call.

From: variants/simple.py
Fails: varlen
"""

LINES = {
    "": r"""
+ _LONGEST: dict[tuple[int, ...], int] = {}
+
+
  def flash_attention_varlen(
""",
    "flash_attention_varlen": r"""
-     row_blocks = triton.cdiv(int(cu_seqlens_q.diff().max()), BLOCK_M)
+     longest = _LONGEST.setdefault(tuple(q.shape), int(cu_seqlens_q.diff().max()))
+     row_blocks = triton.cdiv(longest, BLOCK_M)
""",
}
