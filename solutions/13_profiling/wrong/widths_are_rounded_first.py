"""Widths of parts of a byte are rounded up before they are multiplied.

Fails: bytes
"""

LINES = {
    "step_bytes": r"""
-         "weights": math.ceil(weights * weight_bytes),
+         "weights": math.ceil(weights * math.ceil(weight_bytes)),
...
-         "cache_read": math.ceil(token * context * cache_bytes),
+         "cache_read": math.ceil(token * context * math.ceil(cache_bytes)),
""",
}
