"""The score of column 0 is counted for a foreign target.

Fails: vocabulary
"""

LINES = {
    "vocab_cross_entropy": r"""
-     hit = scores.gather(1, column[:, None])[:, 0].masked_fill(~own, 0)
+     hit = scores.gather(1, column[:, None])[:, 0]
""",
}
