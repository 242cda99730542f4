"""Torch unpacks the codes, the kernel does the rest.

From: variants/simple.py
Fails: kernel, speed
"""

LINES = {
    "int4_matmul": r"""
      grid = (rows, triton.cdiv(num_out, 32))
+     packed = packed.bitwise_and(15) | packed.bitwise_right_shift(4).bitwise_left_shift(4)
""",
}
