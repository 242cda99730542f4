"""Bytes of 0 are divided by.

Fails: roofline
"""

LINES = {
    "roofline": r"""
-     intensity = flops / nbytes if nbytes else math.inf
+     intensity = flops / nbytes
""",
}
