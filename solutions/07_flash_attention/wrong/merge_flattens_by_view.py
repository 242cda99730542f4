"""The rows are flattened by view, which fails for a transposed side.

From: variants/simple.py
Fails: merge
"""

LINES = {
    "merge": r"""
-     return (o1 * weight1 + o2 * weight2).to(o1.dtype), lse
+     rows1, rows2 = (x.view(-1, x.shape[-1]) for x in (o1, o2))
+     o = rows1 * weight1.reshape(-1, 1) + rows2 * weight2.reshape(-1, 1)
+     return o.to(o1.dtype).view(o1.shape), lse
""",
}
