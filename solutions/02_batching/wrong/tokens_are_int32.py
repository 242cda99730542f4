"""tokens and positions are int32.

From: variants/plain.py
Fails: pad
"""

LINES = {
    "left_pad": r"""
-     return tokens, (valid.cumsum(-1) - 1).clamp(min=0), valid
+     return tokens.int(), (valid.cumsum(-1) - 1).clamp(min=0).int(), valid
""",
}
