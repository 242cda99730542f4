"""Both sides count the same, however much weight their keys have.

From: variants/simple.py
Fails: merge
"""

LINES = {
    "merge": r"""
-     return (o1 * weight1 + o2 * weight2).to(o1.dtype), lse
+     return ((o1 + o2) * (weight1 + weight2) / 2).to(o1.dtype), lse
""",
}
