"""Matrices of keys and values are taken to have all query heads.

Fails: bytes, roofline
"""

LINES = {
    "step_bytes": r"""
-     hidden, heads = config.hidden_size, config.num_heads + config.num_kv_heads
+     hidden, heads = config.hidden_size, 2 * config.num_heads
""",
}
