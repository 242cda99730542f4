"""Keys are counted for new tokens.

Fails: memory
"""

LINES = {
    "largest_tensor": r"""
-         "keys": config.num_kv_heads * context * config.head_dim,
+         "keys": config.num_kv_heads * new * config.head_dim,
""",
}
