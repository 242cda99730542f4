"""The two weights are rounded to the dtype of o before they are used.

From: variants/simple.py
Fails: merge
"""

LINES = {
    "merge": r"""
-     return (o1 * weight1 + o2 * weight2).to(o1.dtype), lse
+     return o1 * weight1.to(o1.dtype) + o2 * weight2.to(o2.dtype), lse
""",
}
