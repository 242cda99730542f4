"""lse is computed in float32, and comes back in the dtype of o.

From: variants/simple.py
Fails: merge
"""

LINES = {
    "merge": r"""
-     return (o1 * weight1 + o2 * weight2).to(o1.dtype), lse
+     return (o1 * weight1 + o2 * weight2).to(o1.dtype), lse.to(o1.dtype)
""",
}
