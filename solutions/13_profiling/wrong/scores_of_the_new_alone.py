"""Scores are taken among new tokens alone.

Fails: flops, roofline
"""

LINES = {
    "step_flops": r"""
-     scores = 2 * batch * layers * heads * new * context * width
+     scores = 2 * batch * layers * heads * new * new * width
""",
}
