"""Where the second side saw nothing at all, the first one comes back itself.

From: variants/simple.py
Fails: merge
"""

LINES = {
    "merge": r"""
  def merge(o1: Tensor, lse1: Tensor, o2: Tensor, lse2: Tensor) -> tuple[Tensor, Tensor]:
+     if bool((lse2 == -math.inf).all()):
+         return o1, lse1
""",
}
