"""Scores are not scaled.

Fails: ring_attention
"""

LINES = {
    "ring_attention": r"""
-     queries = q.float().reshape(groups, -1, width) * width**-0.5
+     queries = q.float().reshape(groups, -1, width)
""",
}
