"""Parameters are made in the default dtype and filled.

From: variants/plain.py
Fails: column
"""

LINES = {
    "ColumnParallelLinear.__init__": r"""
-         self.weight = own(column_shard(weight, rank, world))
+         shard = column_shard(weight, rank, world)
+         self.weight = nn.Parameter(torch.empty(shard.shape, device=shard.device))
+         self.weight.data.copy_(shard)
""",
}
