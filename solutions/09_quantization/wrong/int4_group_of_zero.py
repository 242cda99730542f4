"""A group of 0 is a ZeroDivisionError, and a negative one is taken for a number of columns.

From: variants/simple.py
Fails: int4, linears
"""

LINES = {
    "quantize_int4": r"""
-     if group < 1 or width % group != 0:
+     if width % group != 0:
""",
}
