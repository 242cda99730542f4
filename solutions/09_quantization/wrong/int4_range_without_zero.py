"""A group's range is not stretched to hold 0.

From: variants/simple.py
Fails: int4
"""

LINES = {
    "quantize_int4": r"""
-     low = w.amin(dim=2).clamp(max=0)
-     high = w.amax(dim=2).clamp(min=0)
+     low = w.amin(dim=2)
+     high = w.amax(dim=2)
      scale = torch.where(high == low, 1.0, (high - low) / 15)
-     zero = torch.round(-low / scale)
+     zero = torch.round(-low / scale).clamp(0, 15)
""",
}
