"""o has the dtype that o1 and o2 have together, not that of o1.

From: variants/simple.py
Fails: merge
"""

LINES = {
    "merge": r"""
-     return (o1 * weight1 + o2 * weight2).to(o1.dtype), lse
+     o = o1 * weight1 + o2 * weight2
+     return o.to(torch.promote_types(o1.dtype, o2.dtype)), lse
""",
}
