"""Positions count columns, padding included, and not tokens.

From: variants/plain.py
Fails: pad, generate
"""

LINES = {
    "left_pad": r"""
-     return tokens, (valid.cumsum(-1) - 1).clamp(min=0), valid
+     return tokens, torch.arange(width).repeat(len(prompts), 1), valid
""",
}
