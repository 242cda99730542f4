"""quantize_int8 takes the magnitudes of a float32 weight where it lies, and gives signs back after.

From: variants/simple.py
Fails: int8, linears, model
"""

LINES = {
    "quantize_int8": r"""
+     sign = w.sign()
-     largest = w.abs().amax(dim=1)
+     largest = w.abs_().amax(dim=1)
      scale = torch.where(largest == 0, 1.0, largest / 127)
-     return torch.round(w / scale[:, None]).clamp(-127, 127).to(torch.int8), scale
+     return (torch.round(w / scale[:, None]) * sign).clamp(-127, 127).to(torch.int8), scale
""",
}
