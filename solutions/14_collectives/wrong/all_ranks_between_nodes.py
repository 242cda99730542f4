"""The ring between nodes has W ranks.

Fails: cost
"""

LINES = {
    "seconds": r"""
-         return inside + seconds("all_reduce", nbytes / size, nodes, far_alpha, far_beta)
+         return inside + seconds("all_reduce", nbytes / size, world, far_alpha, far_beta)
""",
}
