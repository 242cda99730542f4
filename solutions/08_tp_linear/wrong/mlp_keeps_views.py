"""The shards are views: the whole weights stay in memory.

From: variants/plain.py
Fails: mlp
"""

LINES = {
    "ParallelMLP.__init__": r"""
-         self.w_down = own(row_shard(w_down, rank, world))
+         self.w_down = nn.Parameter(row_shard(w_down, rank, world))
""",
}
