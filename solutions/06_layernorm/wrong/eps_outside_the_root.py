"""Adds eps to the deviation, not to the variance.

From: variants/passes.py
Fails: forward, backward, speed
"""

LINES = {
    "forward_kernel": r"""
-     scale = 1 / tl.sqrt(tl.sum(squares) / width + eps)
+     scale = 1 / (tl.sqrt(tl.sum(squares) / width) + eps)
""",
}
