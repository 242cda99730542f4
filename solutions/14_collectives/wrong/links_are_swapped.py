"""The link between nodes is taken for the one inside, and the other way round.

Fails: cost
"""

LINES = {
    "seconds": r"""
-         size, far_alpha, far_beta = per_node
+         size, (far_alpha, far_beta), (alpha, beta) = per_node[0], (alpha, beta), per_node[1:]
""",
}
