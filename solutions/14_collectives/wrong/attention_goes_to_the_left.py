"""The ring goes round the other way.

Fails: ring_attention
"""

LINES = {
    "ring_attention": r"""
-         source = (rank - step) % world
+         source = (rank + step) % world
...
-             travelling = peer.exchange(travelling, (rank + 1) % world, (rank - 1) % world)
+             travelling = peer.exchange(travelling, (rank - 1) % world, (rank + 1) % world)
""",
}
