"""Keeps its results by shape: the next call overwrites the last one.

From: variants/simple.py
Fails: triton, varlen, speed
"""

import functools

LINES = {
    "": r"""
+ @functools.cache
+ def _buffers(shape: torch.Size, dtype: torch.dtype, device: torch.device) -> tuple[Tensor, Tensor]:
+     o = torch.empty(shape, dtype=dtype, device=device)
+     return o, torch.empty(shape[:-1], dtype=torch.float32, device=device)
+
+
  def flash_attention(
""",
    "flash_attention": r"""
-     o = torch.empty((B, H, T, D), dtype=q.dtype, device=q.device)
-     lse = torch.empty((B, H, T), dtype=torch.float32, device=q.device)
+     o, lse = _buffers(q.shape, q.dtype, q.device)
""",
    "flash_attention_varlen": r"""
-     o = torch.empty(q.shape, dtype=q.dtype, device=q.device)
+     o, _ = _buffers(q.shape, q.dtype, q.device)
""",
}
