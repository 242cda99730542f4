"""Padding queries attend to all padding before them.

From: variants/plain.py
Fails: mask
"""

LINES = {
    "causal_mask": r"""
-     real = valid[:, :, None] & valid[:, None, :]
+     real = valid[:, :, None] == valid[:, None, :]
""",
}
