"""query_positions are the positions of all keys.

From: variants/plain.py
Fails: caches, attend
"""

LINES = {
    "PostRopeCache.update": r"""
-         return keys, values, places, positions
+         return keys, values, places, places
""",
}
