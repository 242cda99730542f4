"""Parts of a byte are dropped.

Fails: bytes
"""

LINES = {
    "step_bytes": r"""
-         "weights": math.ceil(weights * weight_bytes),
+         "weights": int(weights * weight_bytes),
...
-         "cache_read": math.ceil(token * context * cache_bytes),
+         "cache_read": int(token * context * cache_bytes),
...
-         "cache_write": math.ceil(token * new * cache_bytes),
+         "cache_write": int(token * new * cache_bytes),
""",
}
