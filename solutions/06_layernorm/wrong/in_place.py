"""Writes y over x where x is contiguous.

From: variants/passes.py
Fails: forward, backward, speed
"""

LINES = {
    "layer_norm_forward": r"""
-     y = torch.empty(x.shape, dtype=x.dtype, device=x.device)
+     y = x if x.is_contiguous() else torch.empty(x.shape, dtype=x.dtype, device=x.device)
""",
}
