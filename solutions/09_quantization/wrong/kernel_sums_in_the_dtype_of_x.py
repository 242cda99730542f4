"""The kernel adds products up in the dtype of x.

From: variants/simple.py
Fails: kernel, speed
"""

LINES = {
    "matmul_kernel": r"""
-             acc += value.to(tl.float32) * (code - z) * s
+             acc = (acc + value.to(tl.float32) * (code - z) * s).to(value.dtype).to(tl.float32)
""",
    "int4_matmul": r"""
-         matmul_kernel[grid](*given, num_out, x.shape[1], group, OUTS=32, BYTES=128)
+         matmul_kernel[grid](*given, num_out, x.shape[1], group, OUTS=32, BYTES=2)
""",
}
