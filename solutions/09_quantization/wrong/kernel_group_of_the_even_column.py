"""The kernel gives both columns of a byte the scale of the even one.

From: variants/simple.py
Fails: kernel, speed
"""

LINES = {
    "matmul_kernel": r"""
-             place = out * (width // group) + column // group
+             place = out * (width // group) + (2 * byte) // group
""",
}
