"""Rows lie on axis 1 of the grid, which has 65,535 programs at most.

From: variants/simple.py
Kind: launches
Report: https://github.com/facebookincubator/AITemplate/pull/708
Report: https://github.com/ggml-org/llama.cpp/issues/27901
Fails: forward
"""

LINES = {
    "forward_kernel": r"""
-     row = tl.program_id(0).to(tl.int64)
+     row = tl.program_id(1).to(tl.int64)
""",
    "layer_norm_forward": r"""
-         forward_kernel[(num_rows,)](
+         forward_kernel[(1, num_rows)](
""",
}
