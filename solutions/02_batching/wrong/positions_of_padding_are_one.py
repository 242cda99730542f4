"""Padding has position 1, a habit of another library.

From: variants/plain.py
Fails: pad
"""

LINES = {
    "left_pad": r"""
-     return tokens, (valid.cumsum(-1) - 1).clamp(min=0), valid
+     return tokens, (valid.cumsum(-1) - 1).masked_fill(~valid, 1), valid
""",
}
