"""There is no row behind the slots.

Fails: cache, step, prefill, graphs
"""

LINES = {
    "StaticCache.__init__": r"""
-         shape = slots + 1, config.num_kv_heads, max_len, config.head_dim
+         shape = slots, config.num_kv_heads, max_len, config.head_dim
""",
}
