"""New keys and values are not read.

Fails: bytes, roofline
"""

LINES = {
    "step_bytes": r"""
-         "cache_read": math.ceil(token * context * cache_bytes),
+         "cache_read": math.ceil(token * (context - new) * cache_bytes),
""",
}
