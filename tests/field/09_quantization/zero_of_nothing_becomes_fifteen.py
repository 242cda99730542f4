"""A zero of 0 is taken for -1, of which four bits are left: 15.

From: variants/simple.py
Kind: parameters
Report: https://github.com/ModelCloud/GPTQModel/issues/2350
Fails: kernel
"""

LINES = {
    "matmul_kernel": r"""
-             z = tl.load(zero + place, mask=mask, other=0).to(tl.float32)
+             stored = tl.load(zero + place, mask=mask, other=0).to(tl.int32)
+             z = tl.where(stored == 0, (stored - 1) & 15, stored).to(tl.float32)
""",
}
