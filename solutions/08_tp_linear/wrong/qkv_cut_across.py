"""q, k and v are stacked and cut into W parts, across the borders between them.

From: variants/plain.py
Fails: qkv
"""

LINES = {
    "QKVParallelLinear.__init__": r"""
-         self.wq = own(column_shard(wq, rank, world))
-         self.wk = own(column_shard(wk, self.head, shards))
-         self.wv = own(column_shard(wv, self.head, shards))
+         stacked = torch.cat([wq, wk, wv]).chunk(world)[rank]
+         sizes = [max(len(weight) // world, 1) for weight in (wq, wk)]
+         self.wq = own(stacked[: sizes[0]])
+         self.wk = own(stacked[sizes[0] : sum(sizes)])
+         self.wv = own(stacked[sum(sizes) :])
""",
}
