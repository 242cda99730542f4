"""Forgets that every layer has a cache.

Fails: bytes
"""

LINES = {
    "cache_bytes": r"""
-     return config.num_layers * batch * length * token
+     return batch * length * token
""",
}
