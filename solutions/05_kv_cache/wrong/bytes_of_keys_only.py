"""Counts the keys and forgets the values.

Fails: bytes
"""

LINES = {
    "cache_bytes": r"""
-     token = 2 * config.num_kv_heads * config.head_dim * dtype.itemsize  # a key and a value
+     token = config.num_kv_heads * config.head_dim * dtype.itemsize
""",
}
