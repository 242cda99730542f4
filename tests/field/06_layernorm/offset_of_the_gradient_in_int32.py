"""The offset of a row of dy is int32 where that of x is int64: one argument was forgotten.

From: variants/passes.py
Kind: addresses
Report: https://github.com/state-spaces/mamba/pull/988
Fails: backward
"""

LINES = {
    "dx_kernel": r"""
-     dy += row * dy_stride
+     dy += tl.program_id(0) * dy_stride
""",
}
