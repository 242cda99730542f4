"""Takes two bytes for every number.

Fails: bytes
"""

LINES = {
    "cache_bytes": r"""
-     token = 2 * config.num_kv_heads * config.head_dim * dtype.itemsize  # a key and a value
+     token = 2 * config.num_kv_heads * config.head_dim * 2
""",
}
