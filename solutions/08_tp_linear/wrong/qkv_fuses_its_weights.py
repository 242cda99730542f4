"""One parameter holds the rows of all three projections.

From: variants/plain.py
Fails: qkv
"""

LINES = {
    "QKVParallelLinear.__init__": r"""
-         self.wq = own(column_shard(wq, rank, world))
-         self.wk = own(column_shard(wk, self.head, shards))
-         self.wv = own(column_shard(wv, self.head, shards))
+         q = column_shard(wq, rank, world)
+         k, v = (column_shard(weight, self.head, shards) for weight in (wk, wv))
+         self.sizes = [q.shape[0], k.shape[0], v.shape[0]]
+         self.wqkv = own(torch.cat([q, k, v]))
""",
    "QKVParallelLinear.forward": r"""
-         x, wk, wv = Copy.apply(x, self.group), self.wk, self.wv
+         x, (wq, wk, wv) = Copy.apply(x, self.group), self.wqkv.split(self.sizes)
...
-         return linear(x, self.wq), linear(x, wk), linear(x, wv)
+         return linear(x, wq), linear(x, wk), linear(x, wv)
""",
}
