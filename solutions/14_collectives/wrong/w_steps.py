"""The ring has W steps.

Fails: cost
"""

LINES = {
    "seconds": r"""
-     return RING_STEPS[op] * (world - 1) * (alpha + nbytes / (world * beta))
+     return RING_STEPS[op] * world * (alpha + nbytes / (world * beta)) if world > 1 else 0.0
""",
}
