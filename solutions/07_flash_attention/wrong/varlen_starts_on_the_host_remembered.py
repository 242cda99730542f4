"""Starts are kept by the number of sequences: another call of as many gets those of the first.

From: variants/simple.py
Fails: varlen
"""

LINES = {
    "": r"""
+ _STARTS: dict[int, tuple[Tensor, Tensor]] = {}
+
+
  def flash_attention_varlen(
""",
    "flash_attention_varlen": r"""
      o = torch.empty(q.shape, dtype=q.dtype, device=q.device)
+     starts = _STARTS.setdefault(len(cu_seqlens_q), (cu_seqlens_q, cu_seqlens_k))
+     cu_seqlens_q, cu_seqlens_k = starts
""",
}
