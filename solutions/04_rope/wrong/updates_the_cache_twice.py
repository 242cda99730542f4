"""Asks the cache once for the keys and once for the positions.

From: variants/plain.py
Fails: attend, sink
"""

LINES = {
    "attend": r"""
-     keys, values, key_positions, query_positions = cache.update(k, v, positions)
+     keys, values = cache.update(k, v, positions)[:2]
+     key_positions, query_positions = cache.update(k, v, positions)[2:]
""",
}
