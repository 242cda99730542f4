"""With fewer key/value heads than ranks, every rank holds them all.

From: variants/plain.py
Fails: qkv
"""

LINES = {
    "QKVParallelLinear.__init__": r"""
-         shards = min(num_kv_heads, world)
-         self.head, self.heads = rank * shards // world, num_kv_heads
+         shards = world if num_kv_heads >= world else 1
+         self.head, self.heads = (rank if shards > 1 else 0), 1
""",
}
