"""The parameters are those of an nn.Linear inside.

From: variants/plain.py
Fails: column
"""

LINES = {
    "ColumnParallelLinear.__init__": r"""
-         self.weight = own(column_shard(weight, rank, world))
-         self.bias = None if bias is None else own(part(bias, 0, rank, world))
+         self.linear = nn.Linear(weight.shape[1], weight.shape[0] // world, bias=bias is not None)
+         self.linear.weight = own(column_shard(weight, rank, world))
+         if bias is not None:
+             self.linear.bias = own(part(bias, 0, rank, world))
""",
    "ColumnParallelLinear.forward": r"""
-         y = linear(Copy.apply(x, self.group), self.weight, self.bias)
+         y = self.linear(Copy.apply(x, self.group))
""",
}
