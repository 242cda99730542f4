"""Codes of int4 wrap around: 16, of a group as wide below 0 as above, becomes 0.

From: variants/simple.py
Fails: int4, model
"""

LINES = {
    "quantize_int4": r"""
-     scale = torch.where(high == low, 1.0, (high - low) / 15)
+     scale = torch.where(high == low, 1.0, (high - low) / torch.full_like(high, 15))
      zero = torch.round(-low / scale)
-     codes = (torch.round(w / scale[..., None]) + zero[..., None]).clamp(0, 15)
+     codes = (torch.round(w / scale[..., None]) + zero[..., None]).remainder(16)
""",
}
