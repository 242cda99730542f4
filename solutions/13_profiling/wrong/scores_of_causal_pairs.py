"""Scores and values leave out masked pairs.

Fails: flops
"""

LINES = {
    "step_flops": r"""
-     scores = 2 * batch * layers * heads * new * context * width
+     scores = 2 * batch * layers * heads * causal_pairs(new, context) * width
""",
}
