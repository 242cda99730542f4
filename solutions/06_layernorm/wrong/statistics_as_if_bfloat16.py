"""Rounds mean and rstd to the dtype of x, and hands them out as float32.

From: variants/passes.py
Fails: forward, backward, speed
"""

LINES = {
    "forward_kernel": r"""
-     center = tl.sum(total) / width
+     center = (tl.sum(total) / width).to(x.dtype.element_ty).to(tl.float32)
...
-     scale = 1 / tl.sqrt(tl.sum(squares) / width + eps)
+     scale = 1 / tl.sqrt(tl.sum(squares) / width + eps)
+     scale = scale.to(x.dtype.element_ty).to(tl.float32)
""",
}
