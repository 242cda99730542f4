"""In each step a rank sends its own chunk once more.

Fails: all_gather, all_reduce
"""

LINES = {
    "all_gather": r"""
-             chunk = peer.exchange(chunk, (rank + 1) % world, (rank - 1) % world)
+             own = slice(*bounds[rank])
+             chunk = peer.exchange(whole[own], (rank + 1) % world, (rank - 1) % world)
""",
}
