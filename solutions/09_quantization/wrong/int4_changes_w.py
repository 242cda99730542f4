"""quantize_int4 divides a float32 weight by its scales where it lies.

From: variants/simple.py
Fails: int4, linears
"""

LINES = {
    "quantize_int4": r"""
-     codes = (torch.round(w / scale[..., None]) + zero[..., None]).clamp(0, 15)
+     codes = (torch.round(w.div_(scale[..., None])) + zero[..., None]).clamp(0, 15)
""",
}
