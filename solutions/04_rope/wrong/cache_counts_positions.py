"""Caches ignore positions and count their tokens.

From: variants/plain.py
Fails: caches
"""

LINES = {
    "": r"""
+ def count(positions: Tensor, end: int) -> Tensor:
+     new = torch.arange(end - positions.shape[1], end, device=positions.device)
+     return new.expand_as(positions)
+
+
  class PostRopeCache:
""",
    "PostRopeCache.update": r"""
          self.length += k.shape[2]
+         positions = count(positions, self.length)
""",
    "PreRopeCache.update": r"""
          self.length += k.shape[2]
+         positions = count(positions, self.length)
""",
}
