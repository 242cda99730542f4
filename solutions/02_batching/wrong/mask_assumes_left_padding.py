"""Counts the padding and takes for granted that it is on the left.

From: variants/plain.py
Fails: mask
"""

LINES = {
    "causal_mask": r"""
  def causal_mask(valid: Tensor) -> Tensor:
+     width = valid.shape[1]
+     valid = torch.arange(width) >= (width - valid.sum(-1))[:, None]
""",
}
