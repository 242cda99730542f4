"""Keys and values are projected for as many heads as queries.

Fails: flops, roofline
"""

LINES = {
    "step_flops": r"""
-         "qkv": 2 * tokens * layers * hidden * (heads + 2 * config.num_kv_heads) * width,
+         "qkv": 2 * tokens * layers * hidden * 3 * heads * width,
""",
}
