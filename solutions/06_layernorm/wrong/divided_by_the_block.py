"""Divides the sums by the block's size, not by N.

From: variants/passes.py
Fails: forward, backward, speed
"""

LINES = {
    "forward_kernel": r"""
-     center = tl.sum(total) / width
+     center = tl.sum(total) / (tl.cdiv(width, BLOCK) * BLOCK)
...
-     scale = 1 / tl.sqrt(tl.sum(squares) / width + eps)
+     scale = 1 / tl.sqrt(tl.sum(squares) / (tl.cdiv(width, BLOCK) * BLOCK) + eps)
""",
}
