"""The ring goes round the other way.

Fails: all_gather, all_reduce
"""

LINES = {
    "all_gather": r"""
-         start, stop = bounds[(rank - step) % world]
+         start, stop = bounds[(rank + step) % world]
...
-             chunk = peer.exchange(chunk, (rank + 1) % world, (rank - 1) % world)
+             chunk = peer.exchange(chunk, (rank - 1) % world, (rank + 1) % world)
""",
}
