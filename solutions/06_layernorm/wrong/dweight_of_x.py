"""Multiplies dy by x in dweight, not by the normalised x.

From: variants/passes.py
Fails: backward, speed
"""

LINES = {
    "parameters_kernel": r"""
-         dw += up * (value - tl.load(mean + row)) * tl.load(rstd + row)
+         dw += up * value
""",
}
