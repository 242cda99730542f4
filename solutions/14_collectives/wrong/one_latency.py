"""The latency is paid once, not in each step.

Fails: cost
"""

LINES = {
    "seconds": r"""
-     return RING_STEPS[op] * (world - 1) * (alpha + nbytes / (world * beta))
+     return (world > 1) * alpha + RING_STEPS[op] * (world - 1) * nbytes / (world * beta)
""",
}
