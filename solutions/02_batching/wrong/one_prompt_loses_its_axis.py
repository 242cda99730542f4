"""A batch of one prompt comes back without the batch axis.

From: variants/plain.py
Fails: pad, generate, engine
"""

LINES = {
    "left_pad": r"""
-     return tokens, (valid.cumsum(-1) - 1).clamp(min=0), valid
+     return tokens.squeeze(0), (valid.cumsum(-1) - 1).clamp(min=0).squeeze(0), valid.squeeze(0)
""",
}
