"""The maximum begins at 0: where all scores lie far below, all weights vanish.

Fails: ring_attention
"""

LINES = {
    "ring_attention": r"""
-     top = queries.new_full((*queries.shape[:2], 1), -torch.inf)
+     top = queries.new_zeros((*queries.shape[:2], 1))
""",
}
