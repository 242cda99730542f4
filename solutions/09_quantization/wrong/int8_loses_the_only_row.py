"""The scale of a single row loses its axis.

From: variants/simple.py
Fails: int8
"""

LINES = {
    "quantize_int8": r"""
-     largest = w.abs().amax(dim=1)
+     largest = w.abs().amax(dim=1).squeeze()
      scale = torch.where(largest == 0, 1.0, largest / 127)
-     return torch.round(w / scale[:, None]).clamp(-127, 127).to(torch.int8), scale
+     return torch.round(w / scale.reshape(-1, 1)).clamp(-127, 127).to(torch.int8), scale
""",
    "dequantize_int8": r"""
-     return q.float() * scale[:, None]
+     return q.float() * scale.reshape(-1, 1)
""",
}
