"""attend believes cache.length and T, not the size of what comes back.

From: variants/plain.py
Fails: attend, sink
"""

LINES = {
    "attend": r"""
  ) -> Tensor:
+     end = cache.length + k.shape[2]
      keys, values, key_positions, query_positions = cache.update(k, v, positions)
+     keys, values = keys[:, :, :end], values[:, :, :end]
+     key_positions = key_positions[:, :end]
""",
}
