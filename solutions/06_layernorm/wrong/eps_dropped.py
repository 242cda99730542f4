"""Divides by the deviation alone; a row without variance becomes NaN.

From: variants/passes.py
Fails: forward, backward, speed
"""

LINES = {
    "forward_kernel": r"""
-     scale = 1 / tl.sqrt(tl.sum(squares) / width + eps)
+     scale = 1 / tl.sqrt(tl.sum(squares) / width)
""",
}
