"""Takes the variance as E[x²] - E[x]², which loses its digits where the mean is large.

From: variants/passes.py
Fails: forward, speed
"""

LINES = {
    "forward_kernel": r"""
-         apart = tl.where(mask, value - center, 0.0)
-         squares += apart * apart
-     scale = 1 / tl.sqrt(tl.sum(squares) / width + eps)
+         squares += value * value
+     scale = 1 / tl.sqrt(tl.sum(squares) / width - center * center + eps)
""",
}
