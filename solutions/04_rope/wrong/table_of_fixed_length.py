"""Angles come from a table of 131,072 positions; what lies behind takes the last one.

From: variants/plain.py
Fails: rotate, caches, attend
"""

LINES = {
    "rotate": r"""
  def rotate(x: Tensor, positions: Tensor, frequencies: Tensor) -> Tensor:
+     positions = positions.clamp(max=131_071)
""",
}
