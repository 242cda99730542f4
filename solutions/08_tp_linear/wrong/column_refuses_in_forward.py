"""What cannot be divided is noticed when the layer runs.

From: variants/plain.py
Fails: column
"""

LINES = {
    "ColumnParallelLinear.__init__": r"""
-         self.weight = own(column_shard(weight, rank, world))
-         self.bias = None if bias is None else own(part(bias, 0, rank, world))
+         size = weight.shape[0] // world
+         self.refused = weight.shape[0] % world
+         self.weight = own(weight[rank * size : (rank + 1) * size])
+         self.bias = None if bias is None else own(bias[rank * size : (rank + 1) * size])
""",
    "ColumnParallelLinear.forward": r"""
      def forward(self, x: Tensor) -> Tensor:
+         if self.refused:
+             raise ValueError("weight: features do not split over the group")
""",
}
