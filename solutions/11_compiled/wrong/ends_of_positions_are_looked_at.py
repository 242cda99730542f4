"""Of the positions the first and the last are held against max_len.

Fails: graphs
"""

LINES = {
    "GraphRunner._check": r"""
-         if not all(0 <= position < self._cache.max_len for position in positions):
+         if not all(0 <= positions[i] < self._cache.max_len for i in (0, -1)):
""",
}
