"""The shards are views: all heads stay in memory.

From: variants/plain.py
Fails: qkv
"""

LINES = {
    "QKVParallelLinear.__init__": r"""
-         self.wk = own(column_shard(wk, self.head, shards))
+         self.wk = nn.Parameter(column_shard(wk, self.head, shards))
""",
}
