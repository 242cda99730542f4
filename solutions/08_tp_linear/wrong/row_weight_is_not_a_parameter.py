"""The shard is a buffer, so it is never trained.

From: variants/plain.py
Fails: row
"""

LINES = {
    "RowParallelLinear.__init__": r"""
-         self.weight = own(row_shard(weight, rank, world))
+         self.register_buffer("weight", row_shard(weight, rank, world).clone())
""",
}
