"""The cache has the width of the weights.

Fails: bytes
"""

LINES = {
    "step_bytes": r"""
-         "cache_read": math.ceil(token * context * cache_bytes),
+         "cache_read": math.ceil(token * context * weight_bytes),
...
-         "cache_write": math.ceil(token * new * cache_bytes),
+         "cache_write": math.ceil(token * new * weight_bytes),
""",
}
