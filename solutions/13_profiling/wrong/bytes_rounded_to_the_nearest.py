"""Bytes are rounded to the nearest.

Fails: bytes
"""

LINES = {
    "step_bytes": r"""
-         "weights": math.ceil(weights * weight_bytes),
+         "weights": round(weights * weight_bytes),
...
-         "cache_read": math.ceil(token * context * cache_bytes),
+         "cache_read": round(token * context * cache_bytes),
...
-         "cache_write": math.ceil(token * new * cache_bytes),
+         "cache_write": round(token * new * cache_bytes),
""",
}
