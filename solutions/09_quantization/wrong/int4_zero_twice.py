"""The zero is taken away twice on the way back.

From: variants/simple.py
Fails: int4, linears, model
"""

LINES = {
    "dequantize_int4": r"""
-     return (codes - zero) * scale
+     return (codes - 2 * zero) * scale
""",
}
