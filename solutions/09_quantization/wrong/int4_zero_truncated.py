"""The zero is cut off, not rounded.

From: variants/simple.py
Fails: int4, linears, model
"""

LINES = {
    "quantize_int4": r"""
-     zero = torch.round(-low / scale)
+     zero = torch.trunc(-low / scale)
""",
}
