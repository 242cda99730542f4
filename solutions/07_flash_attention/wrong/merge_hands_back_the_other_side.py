"""Where o1 saw nothing at all, o2 comes back as it is, in a dtype of its own.

From: variants/simple.py
Fails: merge
"""

LINES = {
    "merge": r"""
  def merge(o1: Tensor, lse1: Tensor, o2: Tensor, lse2: Tensor) -> tuple[Tensor, Tensor]:
+     if bool((lse1 == -math.inf).all()):
+         return o2.clone(), lse2.clone()
""",
}
