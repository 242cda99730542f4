"""The cache is read once for each new token.

Fails: bytes
"""

LINES = {
    "step_bytes": r"""
-         "cache_read": math.ceil(token * context * cache_bytes),
+         "cache_read": math.ceil(token * new * context * cache_bytes),
""",
}
