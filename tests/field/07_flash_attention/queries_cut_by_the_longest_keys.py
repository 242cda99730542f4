"""The grid of a packed batch has tiles for its longest keys, not for its longest queries.

From: variants/simple.py
Kind: launches
Report: https://github.com/Dao-AILab/flash-attention/issues/20
Fails: varlen
"""

LINES = {
    "flash_attention_varlen": r"""
-     row_blocks = triton.cdiv(int(cu_seqlens_q.diff().max()), BLOCK_M)
+     row_blocks = triton.cdiv(int(cu_seqlens_k.diff().max()), BLOCK_M)
""",
}
