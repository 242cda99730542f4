"""Every rank sends, and receives only when that has ended: nobody listens.

Fails: all_reduce
"""

LINES = {
    "all_gather": r"""
-             chunk = peer.exchange(chunk, (rank + 1) % world, (rank - 1) % world)
+             peer.send(chunk, (rank + 1) % world)
+             chunk = peer.recv((rank - 1) % world)
""",
}
