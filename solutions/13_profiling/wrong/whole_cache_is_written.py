"""The cache is written anew in each step.

Fails: bytes, roofline
"""

LINES = {
    "step_bytes": r"""
-         "cache_write": math.ceil(token * new * cache_bytes),
+         "cache_write": math.ceil(token * context * cache_bytes),
""",
}
