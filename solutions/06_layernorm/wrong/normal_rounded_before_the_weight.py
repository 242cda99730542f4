"""Rounds the normalised row to the dtype of x before weight and bias, as many a model does.

From: variants/simple.py
Fails: forward, backward, speed
"""

LINES = {
    "forward_kernel": r"""
-     tl.store(y + row * width + columns, apart * scale * w + b, mask=mask)
+     normal = (apart * scale).to(x.dtype.element_ty).to(tl.float32)
+     tl.store(y + row * width + columns, normal * w + b, mask=mask)
""",
}
