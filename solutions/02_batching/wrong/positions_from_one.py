"""The first real token has position 1.

From: variants/plain.py
Fails: pad, generate
"""

LINES = {
    "left_pad": r"""
-     return tokens, (valid.cumsum(-1) - 1).clamp(min=0), valid
+     return tokens, valid.cumsum(-1), valid
""",
}
