"""A shard is one half or the other.

From: variants/plain.py
Fails: shards, column, row, qkv, mlp
"""

LINES = {
    "part": r"""
-         raise ValueError(f"weight: {tensor.shape[axis]} features do not split into world={world}")
-     return tensor.narrow(axis, rank * size, size)
+         raise ValueError(f"weight: {size} features do not split into world={world}")
+     half = tensor.shape[axis] // 2 if world > 1 else tensor.shape[axis]
+     return tensor.narrow(axis, half if rank else 0, half)
""",
}
