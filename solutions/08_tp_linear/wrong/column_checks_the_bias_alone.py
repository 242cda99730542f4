"""A weight without a bias is cut into parts of unequal height.

From: variants/plain.py
Fails: column
"""

LINES = {
    "ColumnParallelLinear.__init__": r"""
-         self.weight = own(column_shard(weight, rank, world))
+         self.weight = own(weight.tensor_split(world)[rank])
""",
}
