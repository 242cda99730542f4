"""Filters return float32, whatever dtype they were given.

Fails: filters
"""

LINES = {
    "temperature": r"""
-     return (logits.float() / t).to(logits.dtype)
+     return logits.float() / t
""",
    "_remove": r"""
-     return logits.masked_fill(removed, -inf)
+     return logits.float().masked_fill(removed, -inf)
""",
}
