"""x is cut as if it were whole.

From: variants/plain.py
Fails: row
"""

LINES = {
    "RowParallelLinear.forward": r"""
-         y = Sum.apply(linear(x, self.weight), self.group)
+         rank, world = dist.get_rank(self.group), dist.get_world_size(self.group)
+         y = Sum.apply(linear(part(x, x.dim() - 1, rank, world), self.weight), self.group)
""",
}
