"""The first result is overwritten with the merged one.

From: variants/simple.py
Fails: merge
"""

LINES = {
    "merge": r"""
-     return (o1 * weight1 + o2 * weight2).to(o1.dtype), lse
+     return o1.copy_(o1 * weight1 + o2 * weight2), lse
""",
}
