"""x is loaded without a mask: a NaN in the next row gets into the sum.

From: variants/simple.py
Fails: kernel, speed
"""

LINES = {
    "matmul_kernel": r"""
-             value = tl.load(x + row * width + column, mask=column < width, other=0.0)
+             value = tl.load(x + row * width + column)
""",
    "int4_matmul": r"""
-         matmul_kernel[grid](*given, num_out, x.shape[1], group, OUTS=32, BYTES=128)
+         matmul_kernel[grid](*given, num_out, x.shape[1], group, OUTS=32, BYTES=16)
""",
}
