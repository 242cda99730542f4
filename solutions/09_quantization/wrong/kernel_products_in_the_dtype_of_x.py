"""The kernel rounds each product to the dtype of x, and adds in float32.

From: variants/simple.py
Fails: kernel, speed
"""

LINES = {
    "matmul_kernel": r"""
-             acc += value.to(tl.float32) * (code - z) * s
+             acc += (value * ((code - z) * s).to(value.dtype)).to(tl.float32)
""",
}
