"""The shard is a view: the whole weight stays in memory.

From: variants/plain.py
Fails: column
"""

LINES = {
    "ColumnParallelLinear.__init__": r"""
-         self.weight = own(column_shard(weight, rank, world))
+         self.weight = nn.Parameter(column_shard(weight, rank, world))
""",
}
