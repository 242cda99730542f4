"""The cache is counted for one sequence.

Fails: bytes, roofline
"""

LINES = {
    "step_bytes": r"""
-     token = 2 * batch * config.num_layers * config.num_kv_heads * config.head_dim
+     token = 2 * config.num_layers * config.num_kv_heads * config.head_dim
""",
}
