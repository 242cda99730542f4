"""The cache is taken to hold as many heads as there are queries.

Fails: bytes, roofline
"""

LINES = {
    "step_bytes": r"""
-     token = 2 * batch * config.num_layers * config.num_kv_heads * config.head_dim
+     token = 2 * batch * config.num_layers * config.num_heads * config.head_dim
""",
}
