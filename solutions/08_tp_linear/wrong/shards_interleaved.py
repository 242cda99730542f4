"""Rank r takes features r, r + W, r + 2W and so on.

From: variants/plain.py
Fails: shards, column, row, qkv, mlp
"""

LINES = {
    "part": r"""
-     return tensor.narrow(axis, rank * size, size)
+     own_features = torch.arange(size, device=tensor.device) * world + rank
+     return tensor.index_select(axis, own_features)
""",
}
