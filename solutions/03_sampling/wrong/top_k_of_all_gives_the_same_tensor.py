"""A k that keeps everything gives the caller's own tensor back.

Fails: filters
"""

LINES = {
    "top_k": r"""
+     if k >= logits.shape[1]:
+         return logits
      order = _ranking(logits)
""",
}
