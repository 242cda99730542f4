"""beta is taken for the bus rate of an all_reduce: the factor is left out.

Fails: cost
"""

LINES = {
    "seconds": r"""
-     return RING_STEPS[op] * (world - 1) * (alpha + nbytes / (world * beta))
+     return RING_STEPS[op] * (world - 1) * alpha + (world > 1) * nbytes / beta
""",
}
