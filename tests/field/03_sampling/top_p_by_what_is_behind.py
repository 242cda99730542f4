"""A token stays if it and those behind it hold more than 1 - p: for a tiny p that is 1, and none do.

Kind: precision
Report: https://github.com/ml-explore/mlx-lm/pull/1912
Fails: filters
"""

LINES = {
    "top_p": r"""
-     # A token goes if those in front of it reach p without it. Rounding may let the sum reach 1
-     # before the last token, but p = 1 means all of them.
-     in_front = ranked.cumsum(-1) - ranked
-     return _remove(logits, order, (in_front >= p) & (p < 1))
+     behind = ranked.flip(-1).cumsum(-1).flip(-1)
+     return _remove(logits, order, (behind <= 1 - p) & (p < 1))
""",
}
