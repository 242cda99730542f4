"""In the node an all_reduce is made before and after.

Fails: cost
"""

LINES = {
    "seconds": r"""
-         inside = 2 * seconds("reduce_scatter", nbytes, int(size), alpha, beta)
+         inside = 2 * seconds("all_reduce", nbytes, int(size), alpha, beta)
""",
}
