"""Keeps the two sums behind dx in the dtype of dy.

From: variants/passes.py
Fails: backward, speed
"""

LINES = {
    "dx_kernel": r"""
-     level = tl.sum(sums) / width
-     slope = tl.sum(products) / width
+     level = tl.sum(sums).to(dy.dtype.element_ty).to(tl.float32) / width
+     slope = tl.sum(products).to(dy.dtype.element_ty).to(tl.float32) / width
""",
}
