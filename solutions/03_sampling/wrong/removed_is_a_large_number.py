"""Removed tokens get the lowest finite number in place of -inf.

Fails: filters
"""

LINES = {
    "_remove": r"""
-     return logits.masked_fill(removed, -inf)
+     return logits.masked_fill(removed, torch.finfo(logits.dtype).min)
""",
}
