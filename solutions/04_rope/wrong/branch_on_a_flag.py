"""attend asks a cache whether its keys are rotated.

From: variants/plain.py
Fails: attend
"""

LINES = {
    "attend": r"""
      keys, values, key_positions, query_positions = cache.update(k, v, positions)
+     if not getattr(cache, "rotated", True):
+         keys = rotate(keys, key_positions, frequencies)
""",
}
