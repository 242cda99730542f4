"""Heads together are taken to be as wide as the model.

Fails: bytes, roofline
"""

LINES = {
    "step_bytes": r"""
-     matrices = 2 * heads * config.head_dim * hidden + 3 * hidden * config.intermediate_size
+     matrices = 2 * heads * hidden * hidden // config.num_heads + 3 * hidden * config.intermediate_size
""",
}
