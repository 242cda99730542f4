"""o2 is rounded to the dtype of o1 before the two are added.

From: variants/simple.py
Fails: merge
"""

LINES = {
    "merge": r"""
-     return (o1 * weight1 + o2 * weight2).to(o1.dtype), lse
+     return (o1 * weight1 + o2.to(o1.dtype) * weight2).to(o1.dtype), lse
""",
}
