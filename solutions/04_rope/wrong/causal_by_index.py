"""The mask is a triangle over indices, last query on last key.

From: variants/plain.py
Fails: attend
"""

LINES = {
    "attend": r"""
-     keys, values, key_positions, query_positions = cache.update(k, v, positions)
+     keys, values, _, query_positions = cache.update(k, v, positions)
...
-     hidden = key_positions[:, None, :] > query_positions[:, :, None]
+     new, context = q.shape[2], keys.shape[2]
+     triangle = torch.ones(new, context, dtype=torch.bool, device=q.device)
+     hidden = triangle.tril(context - new).logical_not().expand(len(q), new, context)
""",
}
