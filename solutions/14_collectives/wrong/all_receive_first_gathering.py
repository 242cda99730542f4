"""Every rank waits for its left neighbour before it sends.

Fails: all_reduce
"""

LINES = {
    "all_gather": r"""
-             chunk = peer.exchange(chunk, (rank + 1) % world, (rank - 1) % world)
+             received = peer.recv((rank - 1) % world)
+             peer.send(chunk, (rank + 1) % world)
+             chunk = received
""",
}
