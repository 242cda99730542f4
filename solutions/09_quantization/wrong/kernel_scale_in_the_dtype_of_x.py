"""The kernel gets its scales in the dtype of x.

From: variants/simple.py
Fails: kernel, speed
"""

LINES = {
    "int4_matmul": r"""
-     given = (x.contiguous(), packed.contiguous(), scale.contiguous(), zero.contiguous(), y)
+     given = (
+         x.contiguous(),
+         packed.contiguous(),
+         scale.to(x.dtype).contiguous(),
+         zero.contiguous(),
+         y,
+     )
""",
}
