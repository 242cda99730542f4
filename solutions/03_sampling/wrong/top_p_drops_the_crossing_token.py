"""top_p drops the token that crosses p: less than p is left, or nothing at all.

Fails: filters
"""

LINES = {
    "top_p": r"""
-     in_front = ranked.cumsum(-1) - ranked
-     return _remove(logits, order, (in_front >= p) & (p < 1))
+     return _remove(logits, order, (ranked.cumsum(-1) >= p) & (p < 1))
""",
}
