"""The cache is given float32 keys and values.

From: variants/plain.py
Fails: attend
"""

LINES = {
    "attend": r"""
-     keys, values, key_positions, query_positions = cache.update(k, v, positions)
+     keys, values, key_positions, query_positions = cache.update(k.float(), v.float(), positions)
      q = rotate(q, query_positions, frequencies)
+     keys, values = keys.to(q.dtype), values.to(q.dtype)
""",
}
