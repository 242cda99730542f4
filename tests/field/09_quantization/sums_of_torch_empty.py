"""Programs add to a result that torch.empty has made: it holds anything.

From: variants/weights_read_once.py
Kind: state
Report: https://github.com/triton-lang/triton/issues/2183
Fails: kernel
"""

LINES = {
    "int4_matmul": r"""
-     y = torch.zeros((rows, num_out), dtype=torch.float32, device=x.device)
+     y = torch.empty((rows, num_out), dtype=torch.float32, device=x.device)
""",
}
