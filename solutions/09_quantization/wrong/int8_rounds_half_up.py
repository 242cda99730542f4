"""A value halfway between two int8 codes goes up.

From: variants/simple.py
Fails: int8, cache
"""

LINES = {
    "quantize_int8": r"""
-     return torch.round(w / scale[:, None]).clamp(-127, 127).to(torch.int8), scale
+     return torch.floor(w / scale[:, None] + 0.5).clamp(-127, 127).to(torch.int8), scale
""",
}
