"""Forgets the number of sequences.

Fails: bytes
"""

LINES = {
    "cache_bytes": r"""
-     return config.num_layers * batch * length * token
+     return config.num_layers * length * token
""",
}
