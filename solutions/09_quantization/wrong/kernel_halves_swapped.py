"""The kernel takes the high half of a byte for the even column.

From: variants/simple.py
Fails: kernel, speed
"""

LINES = {
    "matmul_kernel": r"""
-             code = ((both >> (4 * half)) & 15).to(tl.float32)
+             code = ((both >> (4 - 4 * half)) & 15).to(tl.float32)
""",
}
