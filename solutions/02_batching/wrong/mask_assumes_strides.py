"""Spreads the keys with as_strided, as if the rows of valid lay one after the other.

From: variants/plain.py
Fails: mask
"""

LINES = {
    "causal_mask": r"""
-     real = valid[:, :, None] & valid[:, None, :]
+     batch, width = valid.shape
+     keys = valid.as_strided((batch, width, width), (width, 0, 1))
+     real = valid[:, :, None] & keys
""",
}
