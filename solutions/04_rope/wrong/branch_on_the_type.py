"""attend knows three classes, and takes the keys of any other for un-rotated.

From: variants/plain.py
Fails: attend, sink
"""

LINES = {
    "attend": r"""
      keys, values, key_positions, query_positions = cache.update(k, v, positions)
+     if not isinstance(cache, PostRopeCache | PreRopeCache | SinkCache):
+         keys = rotate(keys, key_positions, frequencies)
""",
}
