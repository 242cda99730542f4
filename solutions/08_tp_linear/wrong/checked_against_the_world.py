"""What the world's ranks do not divide is refused, though the group's do.

From: variants/plain.py
Fails: column, row, qkv, mlp
"""

LINES = {
    "ColumnParallelLinear.__init__": r"""
          rank, world = dist.get_rank(group), dist.get_world_size(group)
+         if weight.shape[0] % dist.get_world_size():
+             raise ValueError("the ranks do not divide the features of weight")
""",
    "RowParallelLinear.__init__": r"""
          rank, world = dist.get_rank(group), dist.get_world_size(group)
+         if weight.shape[1] % dist.get_world_size():
+             raise ValueError("the ranks do not divide the features of weight")
""",
    "QKVParallelLinear.__init__": r"""
-         if num_heads % world:
+         if num_heads % dist.get_world_size():
""",
    "ParallelMLP.__init__": r"""
          self.group = group
+         if w_down.shape[1] % dist.get_world_size():
+             raise ValueError("the ranks do not divide the features of w_down")
""",
}
