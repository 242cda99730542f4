"""The kernel has one block of 2048 columns, and no loop over more.

From: variants/simple.py
Fails: kernel, speed
"""

LINES = {
    "matmul_kernel": r"""
-     for start in range(0, width // 2, BYTES):
+     for start in range(0, BYTES, BYTES):
""",
    "int4_matmul": r"""
-         matmul_kernel[grid](*given, num_out, x.shape[1], group, OUTS=32, BYTES=128)
+         matmul_kernel[grid](*given, num_out, x.shape[1], group, OUTS=32, BYTES=1024)
""",
}
