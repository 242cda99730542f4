"""The kernel leaves out bytes beyond the last whole block.

From: variants/simple.py
Fails: kernel, speed
"""

LINES = {
    "matmul_kernel": r"""
-     for start in range(0, width // 2, BYTES):
+     for start in range(0, tl.maximum(width // 2 // BYTES * BYTES, BYTES), BYTES):
""",
    "int4_matmul": r"""
-         matmul_kernel[grid](*given, num_out, x.shape[1], group, OUTS=32, BYTES=128)
+         matmul_kernel[grid](*given, num_out, x.shape[1], group, OUTS=32, BYTES=32)
""",
}
