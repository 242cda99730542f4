"""A weight is viewed as one row for each rank, which a transposed one does not allow.

From: variants/plain.py
Fails: shards, column, qkv, mlp
"""

LINES = {
    "column_shard": r"""
-     return part(weight, 0, rank, world)
+     part(weight, 0, rank, world)
+     return weight.view(world, -1)[rank].view(-1, weight.shape[1])
""",
}
