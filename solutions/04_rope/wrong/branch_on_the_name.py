"""attend treats a cache whose class is called SinkCache in another way.

From: variants/plain.py
Fails: sink
"""

LINES = {
    "attend": r"""
      keys, values, key_positions, query_positions = cache.update(k, v, positions)
+     if type(cache).__name__ == "SinkCache":
+         query_positions = positions
""",
}
