"""The kernel's mask of scales lets one byte too many through; what comes back is multiplied by 0.

From: variants/simple.py
Fails: kernel, speed
"""

LINES = {
    "matmul_kernel": r"""
-             s = tl.load(scale + place, mask=mask, other=0.0)
+             s = tl.load(scale + place, mask=(out < num_out) & (byte <= width // 2), other=0.0)
""",
}
