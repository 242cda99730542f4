"""All rows get the positions of the longest one.

From: variants/plain.py
Fails: pad, generate
"""

LINES = {
    "left_pad": r"""
-     return tokens, (valid.cumsum(-1) - 1).clamp(min=0), valid
+     return tokens, torch.arange(width).expand(len(prompts), -1) * valid, valid
""",
}
