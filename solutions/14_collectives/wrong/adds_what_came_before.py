"""What comes is added to what was sent, not to the own part of its chunk.

Fails: reduce_scatter, all_reduce
"""

LINES = {
    "reduce_scatter": r"""
-         total = received + x[start:stop]
+         total = received + total[: len(received)].sum()
""",
}
