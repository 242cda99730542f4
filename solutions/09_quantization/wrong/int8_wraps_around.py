"""The range is 128 scales, and +128 wraps around to -128.

From: variants/simple.py
Fails: int8, linears, model, cache
"""

LINES = {
    "quantize_int8": r"""
-     scale = torch.where(largest == 0, 1.0, largest / 127)
-     return torch.round(w / scale[:, None]).clamp(-127, 127).to(torch.int8), scale
+     scale = torch.where(largest == 0, 1.0, largest / 128)
+     return torch.round(w / scale[:, None]).to(torch.int8), scale
""",
}
