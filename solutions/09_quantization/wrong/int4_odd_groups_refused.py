"""Odd groups are refused.

From: variants/simple.py
Fails: int4, linears
"""

LINES = {
    "quantize_int4": r"""
-     if width % group != 0:
+     if width % group != 0 or group % 2 == 1:
""",
}
