"""All groups of a row get the scale and the zero of the row.

From: variants/simple.py
Fails: int4, linears, model
"""

LINES = {
    "quantize_int4": r"""
-     low = w.amin(dim=2).clamp(max=0)
-     high = w.amax(dim=2).clamp(min=0)
+     shape = num_out, width // group
+     low = w.amin(dim=(1, 2))[:, None].expand(shape).clamp(max=0)
+     high = w.amax(dim=(1, 2))[:, None].expand(shape).clamp(min=0)
""",
}
