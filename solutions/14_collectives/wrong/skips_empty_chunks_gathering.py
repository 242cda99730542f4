"""An empty chunk is not sent, and not waited for.

Fails: all_gather, all_reduce
"""

LINES = {
    "all_gather": r"""
-             chunk = peer.exchange(chunk, (rank + 1) % world, (rank - 1) % world)
+             first, last = bounds[(rank - step - 1) % world]
+             sent, chunk = chunk, chunk.new_empty(0)
+             if len(sent) and last > first:
+                 chunk = peer.exchange(sent, (rank + 1) % world, (rank - 1) % world)
+             elif len(sent):
+                 peer.send(sent, (rank + 1) % world)
+             elif last > first:
+                 chunk = peer.recv((rank - 1) % world)
""",
}
