"""Scales below 1e-8 become 1e-8: tiny rows lose their codes.

From: variants/simple.py
Fails: int8
"""

LINES = {
    "quantize_int8": r"""
-     scale = torch.where(largest == 0, 1.0, largest / 127)
+     scale = torch.where(largest == 0, 1.0, (largest / 127).clamp(min=1e-8))
""",
}
