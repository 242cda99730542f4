"""The cache is taken to hold keys, and no values.

Fails: bytes, roofline
"""

LINES = {
    "step_bytes": r"""
-     token = 2 * batch * config.num_layers * config.num_kv_heads * config.head_dim
+     token = batch * config.num_layers * config.num_kv_heads * config.head_dim
""",
}
