"""One projection serves keys and values.

Fails: flops, roofline
"""

LINES = {
    "step_flops": r"""
-         "qkv": 2 * tokens * layers * hidden * (heads + 2 * config.num_kv_heads) * width,
+         "qkv": 2 * tokens * layers * hidden * (heads + config.num_kv_heads) * width,
""",
}
