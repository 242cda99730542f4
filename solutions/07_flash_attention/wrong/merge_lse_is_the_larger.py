"""lse is the larger of the two: what the other side adds to it is lost.

From: variants/simple.py
Fails: merge
"""

LINES = {
    "merge": r"""
-     return (o1 * weight1 + o2 * weight2).to(o1.dtype), lse
+     return (o1 * weight1 + o2 * weight2).to(o1.dtype), torch.maximum(lse1, lse2).float()
""",
}
