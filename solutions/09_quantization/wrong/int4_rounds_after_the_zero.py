"""The zero is added before int4 codes are rounded: halves go elsewhere.

From: variants/simple.py
Fails: int4
"""

LINES = {
    "quantize_int4": r"""
-     codes = (torch.round(w / scale[..., None]) + zero[..., None]).clamp(0, 15)
+     codes = (torch.round(w / scale[..., None] + zero[..., None])).clamp(0, 15)
""",
}
