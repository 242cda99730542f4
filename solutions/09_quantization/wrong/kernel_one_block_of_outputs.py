"""The kernel has one block of 256 outputs, and no program for more.

From: variants/simple.py
Fails: kernel, speed
"""

LINES = {
    "int4_matmul": r"""
-     grid = (rows, triton.cdiv(num_out, 32))
+     grid = (rows, 1)
      given = (x.contiguous(), packed.contiguous(), scale.contiguous(), zero.contiguous(), y)
      if rows > 0:
-         matmul_kernel[grid](*given, num_out, x.shape[1], group, OUTS=32, BYTES=128)
+         matmul_kernel[grid](*given, num_out, x.shape[1], group, OUTS=256, BYTES=32)
""",
}
