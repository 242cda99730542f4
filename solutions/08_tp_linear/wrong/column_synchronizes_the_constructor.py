"""The constructor sends rank 0's weight to all ranks, which have it already.

From: variants/plain.py
Fails: column
"""

LINES = {
    "ColumnParallelLinear.__init__": r"""
          self.weight = own(column_shard(weight, rank, world))
+         dist.broadcast(self.weight.data, group=group, group_src=0)
""",
}
