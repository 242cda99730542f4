"""Squares in the input's dtype: float16 overflows beyond 255 and underflows.

From: variants/plain.py
Fails: norm
"""

LINES = {
    "rms_norm": r"""
-     wide = x.float()
+     wide = x
""",
}
