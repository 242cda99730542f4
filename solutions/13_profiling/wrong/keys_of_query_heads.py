"""Keys are taken to have all query heads.

Fails: memory
"""

LINES = {
    "largest_tensor": r"""
-         "keys": config.num_kv_heads * context * config.head_dim,
+         "keys": config.num_heads * context * config.head_dim,
""",
}
