"""The scale is computed in the dtype of w.

From: variants/simple.py
Fails: int8, linears, cache
"""

LINES = {
    "quantize_int8": r"""
-     w = w.detach().float()
+     w = w.detach()
      largest = w.abs().amax(dim=1)
-     scale = torch.where(largest == 0, 1.0, largest / 127)
+     scale = torch.where(largest == 0, 1.0, largest / 127).float()
""",
}
