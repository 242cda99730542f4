"""Sees the keys of a cache as [B * G, S, D], which a transposed tensor cannot be.

From: variants/plain.py
Fails: attend
"""

LINES = {
    "attend": r"""
      keys, values, key_positions, query_positions = cache.update(k, v, positions)
+     keys = keys.view(-1, *keys.shape[2:]).view(keys.shape)
""",
}
