"""Lanes beyond the row count in the variance: each holds minus the mean.

From: variants/passes.py
Fails: forward, backward, speed
"""

LINES = {
    "forward_kernel": r"""
-         apart = tl.where(mask, value - center, 0.0)
+         apart = value - center
""",
}
