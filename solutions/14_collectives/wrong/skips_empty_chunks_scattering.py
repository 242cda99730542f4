"""An empty chunk is not sent, and not waited for.

Fails: reduce_scatter, all_reduce
"""

LINES = {
    "reduce_scatter": r"""
-         received = peer.exchange(total, (rank + 1) % world, (rank - 1) % world)
-         start, stop = bounds[(rank - step - 2) % world]
+         start, stop = bounds[(rank - step - 2) % world]
+         received = total.new_empty(0)
+         if len(total) and stop > start:
+             received = peer.exchange(total, (rank + 1) % world, (rank - 1) % world)
+         elif len(total):
+             peer.send(total, (rank + 1) % world)
+         elif stop > start:
+             received = peer.recv((rank - 1) % world)
""",
}
