"""A message is [1, n / W].

Fails: reduce_scatter, all_reduce
"""

LINES = {
    "reduce_scatter": r"""
-         received = peer.exchange(total, (rank + 1) % world, (rank - 1) % world)
+         received = peer.exchange(total[None], (rank + 1) % world, (rank - 1) % world)
""",
}
