"""Returns zeros for dx.

From: variants/passes.py
Fails: backward, speed
"""

LINES = {
    "dx_kernel": r"""
-     level = tl.sum(sums) / width
-     slope = tl.sum(products) / width
...
-         tl.store(dx + columns, (inner - level - normal * slope) * scale, mask=mask)
+         tl.store(dx + columns, 0.0 * normal, mask=mask)
""",
}
