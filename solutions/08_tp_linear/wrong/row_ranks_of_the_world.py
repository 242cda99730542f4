"""A rank's part is chosen by its rank in the world, not in the group.

From: variants/plain.py
Fails: row
"""

LINES = {
    "RowParallelLinear.__init__": r"""
-         self.weight = own(row_shard(weight, rank, world))
+         self.weight = own(row_shard(weight, (dist.get_rank() if group else rank) % world, world))
""",
}
