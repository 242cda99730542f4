"""A row of zeros is divided by a scale of zero.

From: variants/simple.py
Fails: int8
"""

LINES = {
    "quantize_int8": r"""
-     scale = torch.where(largest == 0, 1.0, largest / 127)
-     return torch.round(w / scale[:, None]).clamp(-127, 127).to(torch.int8), scale
+     scale = largest / 127
+     return torch.round(w / scale[:, None]).nan_to_num(0, 127, -127).clamp(-127, 127).to(
+         torch.int8
+     ), scale
""",
}
