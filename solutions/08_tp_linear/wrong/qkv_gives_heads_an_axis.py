"""q, k and v have an axis for their heads.

From: variants/plain.py
Fails: qkv
"""

LINES = {
    "QKVParallelLinear.__init__": r"""
          self.group, self.replicated = group, shards < world
+         self.width = wq.shape[0] // num_heads
""",
    "QKVParallelLinear.forward": r"""
-         return linear(x, self.wq), linear(x, wk), linear(x, wv)
+         projected = (linear(x, weight) for weight in (self.wq, wk, wv))
+         return tuple(y.unflatten(-1, (-1, self.width)) for y in projected)
""",
}
