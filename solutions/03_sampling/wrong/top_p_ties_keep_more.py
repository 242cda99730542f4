"""top_p finds the probability at which p is reached and keeps all that have it.

Fails: filters
"""

LINES = {
    "top_p": r"""
-     in_front = ranked.cumsum(-1) - ranked
-     return _remove(logits, order, (in_front >= p) & (p < 1))
+     last = ((ranked.cumsum(-1) - ranked) < p).sum(-1, keepdim=True) - 1
+     least = ranked.gather(-1, last)
+     return logits.masked_fill((logits.float().softmax(-1) < least) & (p < 1), -inf)
""",
}
