"""The heads together are taken to be as wide as the model.

Fails: flops, roofline
"""

LINES = {
    "step_flops": r"""
-         "qkv": 2 * tokens * layers * hidden * (heads + 2 * config.num_kv_heads) * width,
+         "qkv": 2 * tokens * layers * hidden * hidden * (heads + 2 * config.num_kv_heads) // heads,
...
-         "output": 2 * tokens * layers * heads * width * hidden,
+         "output": 2 * tokens * layers * hidden * hidden,
""",
}
