"""Takes hidden_size / num_heads for the width of a head.

Fails: bytes
"""

LINES = {
    "cache_bytes": r"""
-     token = 2 * config.num_kv_heads * config.head_dim * dtype.itemsize  # a key and a value
+     token = 2 * config.num_kv_heads * (config.hidden_size // config.num_heads) * dtype.itemsize
""",
}
