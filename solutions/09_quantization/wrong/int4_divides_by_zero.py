"""An all-zero group is divided by a scale of zero.

From: variants/simple.py
Fails: int4
"""

LINES = {
    "quantize_int4": r"""
-     scale = torch.where(high == low, 1.0, (high - low) / 15)
-     zero = torch.round(-low / scale)
-     codes = (torch.round(w / scale[..., None]) + zero[..., None]).clamp(0, 15)
+     scale = (high - low) / 15
+     zero = torch.round(-low / scale).nan_to_num(0)
+     codes = (torch.round(w / scale[..., None]) + zero[..., None]).nan_to_num(0).clamp(0, 15)
""",
}
