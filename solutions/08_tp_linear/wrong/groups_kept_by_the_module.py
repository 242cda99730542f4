"""The group of the layer made last is that of all layers.

From: variants/plain.py
Fails: column, row, qkv, mlp
"""

LINES = {
    "": r"""
+ GROUPS: list[ProcessGroup | None] = [None]  # the last one is in use
+
+
  def column_shard(weight: Tensor, rank: int, world: int) -> Tensor:
""",
    "ColumnParallelLinear.__init__": r"""
-         self.group, self.gather_output = group, gather_output
+         GROUPS.append(group)
+         self.gather_output = gather_output
""",
    "ColumnParallelLinear.forward": r"""
-         y = linear(Copy.apply(x, self.group), self.weight, self.bias)
-         return Gather.apply(y, self.group) if self.gather_output else y
+         y = linear(Copy.apply(x, GROUPS[-1]), self.weight, self.bias)
+         return Gather.apply(y, GROUPS[-1]) if self.gather_output else y
""",
    "RowParallelLinear.__init__": r"""
-         self.group = group
+         GROUPS.append(group)
""",
    "RowParallelLinear.forward": r"""
-         y = Sum.apply(linear(x, self.weight), self.group)
+         y = Sum.apply(linear(x, self.weight), GROUPS[-1])
""",
    "QKVParallelLinear.__init__": r"""
-         self.group, self.replicated = group, shards < world
+         GROUPS.append(group)
+         self.replicated = shards < world
""",
    "QKVParallelLinear.forward": r"""
-         x, wk, wv = Copy.apply(x, self.group), self.wk, self.wv
+         x, wk, wv = Copy.apply(x, GROUPS[-1]), self.wk, self.wv
          if self.replicated:
-             wk, wv = Replicate.apply(wk, wv, self.head, self.heads, self.group)
+             wk, wv = Replicate.apply(wk, wv, self.head, self.heads, GROUPS[-1])
""",
    "ParallelMLP.__init__": r"""
-         self.group = group
+         GROUPS.append(group)
""",
    "ParallelMLP.forward": r"""
-         x = Copy.apply(x, self.group)
+         x = Copy.apply(x, GROUPS[-1])
          hidden = silu(linear(x, self.w_gate)) * linear(x, self.w_up)
-         return Sum.apply(linear(hidden, self.w_down), self.group)
+         return Sum.apply(linear(hidden, self.w_down), GROUPS[-1])
""",
}
