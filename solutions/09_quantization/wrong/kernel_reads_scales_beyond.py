"""int4_matmul reads the scales of rows that there are not, and uses none of them.

From: variants/simple.py
Fails: kernel
"""

LINES = {
    "matmul_kernel": r"""
-             s = tl.load(scale + place, mask=mask, other=0.0)
+             s = tl.load(scale + place, mask=byte < width // 2, other=0.0)
""",
}
