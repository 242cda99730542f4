"""A temperature of 1 gives the caller's own tensor back.

Fails: filters
"""

LINES = {
    "temperature": r"""
-     return (logits.float() / t).to(logits.dtype)
+     return logits if t == 1 else (logits.float() / t).to(logits.dtype)
""",
}
