"""Scores are taken for all tokens so far as queries.

Fails: flops, roofline
"""

LINES = {
    "step_flops": r"""
-     scores = 2 * batch * layers * heads * new * context * width
+     scores = 2 * batch * layers * heads * context * context * width
""",
}
