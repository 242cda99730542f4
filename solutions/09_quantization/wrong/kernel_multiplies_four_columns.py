"""tl.dot is given four columns at a time: no GPU multiplies blocks that are so narrow.

From: variants/dot_of_bytes_twice.py
Fails: kernel
"""

LINES = {
    "int4_matmul": r"""
-     dot_kernel[grid](*inputs, y, *sizes, ROWS=16, OUTS=32, COLUMNS=64)
+     dot_kernel[grid](*inputs, y, *sizes, ROWS=16, OUTS=32, COLUMNS=4)
""",
}
