"""All n bytes go between the nodes.

Fails: cost
"""

LINES = {
    "seconds": r"""
-         return inside + seconds("all_reduce", nbytes / size, nodes, far_alpha, far_beta)
+         return inside + seconds("all_reduce", nbytes, nodes, far_alpha, far_beta)
""",
}
