"""Takes mean and rstd for constants: dx is only dy * weight * rstd.

From: variants/passes.py
Fails: backward, speed
"""

LINES = {
    "dx_kernel": r"""
-     level = tl.sum(sums) / width
-     slope = tl.sum(products) / width
...
-         normal = (value - center) * scale
-         tl.store(dx + columns, (inner - level - normal * slope) * scale, mask=mask)
+         tl.store(dx + columns, inner * scale, mask=mask)
""",
}
