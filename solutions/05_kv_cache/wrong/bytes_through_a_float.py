"""Counts in float64, which rounds large numbers.

Fails: bytes
"""

LINES = {
    "cache_bytes": r"""
-     return config.num_layers * batch * length * token
+     return int(config.num_layers * batch * length * float(token))
""",
}
