"""The PyTorch version keeps its results by shape: the next call overwrites the last one.

From: variants/simple.py
Fails: tiled
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
  def flash_attention_torch(
""",
    "flash_attention_torch": r"""
-     o, lse = torch.empty_like(q), q.new_empty(B, H, T, dtype=torch.float32)
+     o, lse = _buffers(q.shape, q.dtype, q.device)
""",
}
