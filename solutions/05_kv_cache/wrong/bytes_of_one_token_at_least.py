"""Takes no token for one.

Fails: bytes
"""

LINES = {
    "cache_bytes": r"""
-     return config.num_layers * batch * length * token
+     return config.num_layers * batch * max(1, length) * token
""",
}
