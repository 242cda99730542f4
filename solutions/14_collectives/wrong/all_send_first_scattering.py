"""Every rank sends, and receives only when that has ended: nobody listens.

Fails: all_reduce
"""

LINES = {
    "reduce_scatter": r"""
-         received = peer.exchange(total, (rank + 1) % world, (rank - 1) % world)
+         peer.send(total, (rank + 1) % world)
+         received = peer.recv((rank - 1) % world)
""",
}
