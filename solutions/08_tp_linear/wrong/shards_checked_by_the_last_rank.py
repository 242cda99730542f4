"""Only a rank whose own part is short refuses; the others go on.

From: variants/plain.py
Fails: shards, column, row, mlp
"""

LINES = {
    "part": r"""
-     size, rest = divmod(tensor.shape[axis], world)
-     if rest:
-         raise ValueError(f"weight: {tensor.shape[axis]} features do not split into world={world}")
+     size = -(-tensor.shape[axis] // world)
+     if (rank + 1) * size > tensor.shape[axis]:
+         raise ValueError(f"weight: rank {rank} of world={world} has too few features")
""",
}
