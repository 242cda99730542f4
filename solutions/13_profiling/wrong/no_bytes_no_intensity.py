"""Without bytes the intensity is 0.

Fails: roofline
"""

LINES = {
    "roofline": r"""
-     intensity = flops / nbytes if nbytes else math.inf
+     intensity = flops / nbytes if nbytes else 0.0
""",
}
