"""n is taken for a rank's share of all_gather and reduce_scatter.

Fails: cost
"""

LINES = {
    "seconds": r"""
-     return RING_STEPS[op] * (world - 1) * (alpha + nbytes / (world * beta))
+     share = nbytes if op in ("all_gather", "reduce_scatter") else nbytes / world
+     return RING_STEPS[op] * (world - 1) * (alpha + share / beta)
""",
}
