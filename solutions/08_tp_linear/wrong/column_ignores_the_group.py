"""Shards and collectives are always those of the default group.

From: variants/plain.py
Fails: column
"""

LINES = {
    "ColumnParallelLinear.__init__": r"""
-         rank, world = dist.get_rank(group), dist.get_world_size(group)
+         rank, world = dist.get_rank(), dist.get_world_size()
          self.weight = own(column_shard(weight, rank, world))
          self.bias = None if bias is None else own(part(bias, 0, rank, world))
-         self.group, self.gather_output = group, gather_output
+         self.group, self.gather_output = None, gather_output
""",
}
