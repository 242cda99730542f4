"""The all_gather in the node is forgotten.

Fails: cost
"""

LINES = {
    "seconds": r"""
-         inside = 2 * seconds("reduce_scatter", nbytes, int(size), alpha, beta)
+         inside = seconds("reduce_scatter", nbytes, int(size), alpha, beta)
""",
}
