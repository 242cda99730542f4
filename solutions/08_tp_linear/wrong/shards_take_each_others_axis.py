"""column_shard cuts the inputs and row_shard the outputs.

From: variants/plain.py
Fails: shards, column, row, qkv, mlp
"""

LINES = {
    "column_shard": r"""
-     return part(weight, 0, rank, world)
+     return part(weight, 1, rank, world)
""",
    "row_shard": r"""
-     return part(weight, 1, rank, world)
+     return part(weight, 0, rank, world)
""",
}
