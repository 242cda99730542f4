"""Returns y in float32, whatever x is.

From: variants/passes.py
Fails: forward, backward, speed
"""

LINES = {
    "layer_norm_forward": r"""
-     y = torch.empty(x.shape, dtype=x.dtype, device=x.device)
+     y = torch.empty(x.shape, dtype=torch.float32, device=x.device)
""",
}
