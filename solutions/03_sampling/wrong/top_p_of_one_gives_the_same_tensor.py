"""A p of 1 gives the caller's own tensor back.

Fails: filters
"""

LINES = {
    "top_p": r"""
+     if p == 1:
+         return logits
      order = _ranking(logits)
""",
}
