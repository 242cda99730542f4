"""Rows of dx lie on axis 1 of the grid: a large batch is an invalid launch.

From: variants/passes.py
Kind: launches
Report: https://github.com/PaddlePaddle/Paddle/pull/31144
Fails: backward
"""

LINES = {
    "dx_kernel": r"""
-     row = tl.program_id(0).to(tl.int64)
+     row = tl.program_id(1).to(tl.int64)
""",
    "layer_norm_backward": r"""
-     dx_kernel[(num_rows,)](
+     dx_kernel[(1, num_rows)](
""",
}
