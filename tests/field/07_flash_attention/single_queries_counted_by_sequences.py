"""Where no packed sequence has more than one query each is taken to have one, those of none too.

From: variants/simple.py
Kind: sizes
Report: https://github.com/Dao-AILab/flash-attention/issues/1537
Report: https://github.com/Dao-AILab/flash-attention/issues/1619
Fails: varlen
"""

LINES = {
    "flash_attention_varlen": r"""
+     if int(cu_seqlens_q.diff().max()) == 1:
+         cu_seqlens_q = torch.arange(B + 1, dtype=torch.int32, device=q.device)
      row_blocks = triton.cdiv(int(cu_seqlens_q.diff().max()), BLOCK_M)
""",
}
