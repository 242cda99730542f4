"""top_k fails for a k above V.

Fails: filters
"""

LINES = {
    "top_k": r"""
      order = _ranking(logits)
+     logits.topk(k)
""",
}
