"""Odd groups are refused.

From: variants/simple.py
Fails: int4, linears
"""

LINES = {
    "quantize_int4": r"""
-     if group < 1 or width % group != 0:
+     if group < 1 or width % group != 0 or group % 2 == 1:
""",
}
