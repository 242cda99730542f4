"""Shared heads are dealt in turn: rank r holds head r % G.

From: variants/plain.py
Fails: qkv
"""

LINES = {
    "QKVParallelLinear.__init__": r"""
-         self.head, self.heads = rank * shards // world, num_kv_heads
+         self.head, self.heads = rank % shards, num_kv_heads
""",
}
