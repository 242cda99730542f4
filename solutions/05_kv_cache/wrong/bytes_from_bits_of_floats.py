"""Looks the size up with finfo, which integers do not have.

Fails: bytes
"""

LINES = {
    "cache_bytes": r"""
-     token = 2 * config.num_kv_heads * config.head_dim * dtype.itemsize  # a key and a value
+     token = 2 * config.num_kv_heads * config.head_dim * torch.finfo(dtype).bits // 8
""",
}
