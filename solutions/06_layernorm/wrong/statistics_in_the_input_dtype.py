"""Returns mean and rstd in the dtype of x.

From: variants/passes.py
Fails: forward, backward, speed
"""

LINES = {
    "layer_norm_forward": r"""
-     mean = torch.empty(num_rows, dtype=torch.float32, device=x.device)
+     mean = torch.empty(num_rows, dtype=x.dtype, device=x.device)
""",
}
