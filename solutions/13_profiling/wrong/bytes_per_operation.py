"""Intensity is bytes per operation.

Fails: roofline
"""

LINES = {
    "roofline": r"""
-     intensity = flops / nbytes if nbytes else math.inf
+     intensity = nbytes / flops if flops else math.inf
""",
}
