"""Both axes of a weight must be divisible, though one is cut.

From: variants/plain.py
Fails: shards, column, row, qkv, mlp
"""

LINES = {
    "column_shard": r"""
-     return part(weight, 0, rank, world)
+     part(weight, 1, rank, world)
+     return part(weight, 0, rank, world)
""",
    "row_shard": r"""
-     return part(weight, 1, rank, world)
+     part(weight, 0, rank, world)
+     return part(weight, 1, rank, world)
""",
}
