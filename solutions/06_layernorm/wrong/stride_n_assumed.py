"""Takes the rows of x to be N elements apart, forward and backward.

From: variants/passes.py
Fails: forward, backward, speed
"""

LINES = {
    "forward_kernel": r"""
-     x += row * stride
+     x += row * width
""",
    "dx_kernel": r"""
-     x += row * x_stride
+     x += row * width
""",
    "parameters_kernel": r"""
-         value = tl.load(x + row * x_stride + columns, mask=mask, other=0.0).to(tl.float32)
+         value = tl.load(x + row * width + columns, mask=mask, other=0.0).to(tl.float32)
""",
}
