"""Scores are taken over the model's width instead of all heads' widths.

Fails: flops, roofline
"""

LINES = {
    "step_flops": r"""
-     scores = 2 * batch * layers * heads * new * context * width
+     scores = 2 * batch * layers * new * context * hidden
""",
}
