"""The kernel takes all its arguments for contiguous.

From: variants/simple.py
Fails: kernel, speed
"""

LINES = {
    "int4_matmul": r"""
-     given = (x.contiguous(), packed.contiguous(), scale.contiguous(), zero.contiguous(), y)
+     given = (x, packed, scale, zero, y)
""",
}
