"""Divides the two sums of dx by the block's size.

From: variants/passes.py
Fails: backward, speed
"""

LINES = {
    "dx_kernel": r"""
-     level = tl.sum(sums) / width
-     slope = tl.sum(products) / width
+     level = tl.sum(sums) / BLOCK
+     slope = tl.sum(products) / BLOCK
""",
}
