"""Divides the sum of squares by N - 1.

From: variants/passes.py
Fails: forward, backward, speed
"""

LINES = {
    "forward_kernel": r"""
-     scale = 1 / tl.sqrt(tl.sum(squares) / width + eps)
+     scale = 1 / tl.sqrt(tl.sum(squares) / (width - 1) + eps)
""",
}
