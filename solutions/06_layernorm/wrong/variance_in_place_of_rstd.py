"""Returns the variance as rstd, and takes the root in backward, without eps.

From: variants/passes.py
Fails: forward, backward, speed
"""

LINES = {
    "forward_kernel": r"""
-     tl.store(rstd + row, scale)
+     tl.store(rstd + row, tl.sum(squares) / width)
""",
    "dx_kernel": r"""
-     scale = tl.load(rstd + row)
+     scale = 1 / tl.sqrt(tl.load(rstd + row))
""",
    "parameters_kernel": r"""
-         dw += up * (value - tl.load(mean + row)) * tl.load(rstd + row)
+         dw += up * (value - tl.load(mean + row)) / tl.sqrt(tl.load(rstd + row))
""",
}
