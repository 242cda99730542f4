"""Launches of the driver are not known.

Fails: trace
"""

LINES = {
    "": r"""
- LAUNCH = ("cuda_runtime", "cuda_driver")  # Triton launches through the driver
+ LAUNCH = ("cuda_runtime",)
""",
}
