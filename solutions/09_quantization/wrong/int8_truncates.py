"""int8 codes are cut off, not rounded.

From: variants/simple.py
Fails: int8, linears, model, cache
"""

LINES = {
    "quantize_int8": r"""
-     return torch.round(w / scale[:, None]).clamp(-127, 127).to(torch.int8), scale
+     return torch.trunc(w / scale[:, None]).clamp(-127, 127).to(torch.int8), scale
""",
}
