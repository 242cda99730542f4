"""The parameters are those of layers inside, under other names.

From: variants/plain.py
Fails: mlp
"""

LINES = {
    "ParallelMLP.__init__": r"""
-         self.w_gate = own(column_shard(w_gate, rank, world))
-         self.w_up = own(column_shard(w_up, rank, world))
-         self.w_down = own(row_shard(w_down, rank, world))
+         part(w_gate, 0, rank, world)
+         self.gate = ColumnParallelLinear(w_gate, None, group)
+         self.up = ColumnParallelLinear(w_up, None, group)
+         self.down = RowParallelLinear(w_down, None, group)
""",
    "ParallelMLP.forward": r"""
-         hidden = silu(linear(x, self.w_gate)) * linear(x, self.w_up)
-         return Sum.apply(linear(hidden, self.w_down), self.group)
+         hidden = silu(linear(x, self.gate.weight)) * linear(x, self.up.weight)
+         return self.down(hidden)
""",
}
