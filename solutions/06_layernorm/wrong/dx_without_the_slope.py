"""Forgets that rstd depends on x too.

From: variants/passes.py
Fails: backward, speed
"""

LINES = {
    "dx_kernel": r"""
-     slope = tl.sum(products) / width
...
-         normal = (value - center) * scale
-         tl.store(dx + columns, (inner - level - normal * slope) * scale, mask=mask)
+         tl.store(dx + columns, (inner - level) * scale, mask=mask)
""",
}
