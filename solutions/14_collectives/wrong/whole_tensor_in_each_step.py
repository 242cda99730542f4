"""Each step of the ring carries the whole tensor.

Fails: cost
"""

LINES = {
    "seconds": r"""
-     return RING_STEPS[op] * (world - 1) * (alpha + nbytes / (world * beta))
+     return RING_STEPS[op] * (world - 1) * (alpha + nbytes / beta)
""",
}
