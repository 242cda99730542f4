"""Scores are counted for one sequence of the batch.

Fails: flops, roofline
"""

LINES = {
    "step_flops": r"""
-     scores = 2 * batch * layers * heads * new * context * width
+     scores = 2 * layers * heads * new * context * width
""",
}
