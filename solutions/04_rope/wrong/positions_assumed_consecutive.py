"""Only the first position of a row is read; the others are counted on from it.

From: variants/plain.py
Fails: rotate, caches, attend
"""

LINES = {
    "rotate": r"""
  def rotate(x: Tensor, positions: Tensor, frequencies: Tensor) -> Tensor:
+     positions = positions[:, :1] + torch.arange(x.shape[2], device=x.device)
""",
}
