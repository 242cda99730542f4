"""A multiply-add counts as one operation.

Fails: flops, roofline
"""

LINES = {
    "step_flops": r"""
-     scores = 2 * batch * layers * heads * new * context * width
+     scores = batch * layers * heads * new * context * width
...
-         "qkv": 2 * tokens * layers * hidden * (heads + 2 * config.num_kv_heads) * width,
+         "qkv": tokens * layers * hidden * (heads + 2 * config.num_kv_heads) * width,
...
-         "output": 2 * tokens * layers * heads * width * hidden,
+         "output": tokens * layers * heads * width * hidden,
...
-         "mlp": 6 * tokens * layers * hidden * config.intermediate_size,
+         "mlp": 3 * tokens * layers * hidden * config.intermediate_size,
...
-         "head": 2 * tokens * hidden * config.vocab_size,
+         "head": tokens * hidden * config.vocab_size,
""",
}
