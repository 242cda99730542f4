"""Messages are as long as the longest chunk, with zeros behind the shorter ones.

Fails: reduce_scatter, all_reduce
"""

LINES = {
    "reduce_scatter": r"""
-         received = peer.exchange(total, (rank + 1) % world, (rank - 1) % world)
+         padded = total.new_zeros(-(-len(x) // world))
+         padded[: len(total)] = total
+         received = peer.exchange(padded, (rank + 1) % world, (rank - 1) % world)
...
-         total = received + x[start:stop]
+         total = received[: stop - start] + x[start:stop]
""",
}
