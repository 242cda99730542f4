"""Scores are counted for key heads instead of query heads.

Fails: flops, roofline
"""

LINES = {
    "step_flops": r"""
-     scores = 2 * batch * layers * heads * new * context * width
+     scores = 2 * batch * layers * config.num_kv_heads * new * context * width
""",
}
