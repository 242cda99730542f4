"""The rank subtracts its own maximum, not that of all.

Fails: vocabulary
"""

LINES = {
    "vocab_cross_entropy": r"""
-     top = peer.all_reduce(scores.amax(-1), "max")
-     scores = scores - top[:, None]
+     top = scores.amax(-1)
+     peer.all_reduce(top, "max")
+     scores = scores - top[:, None]
""",
}
