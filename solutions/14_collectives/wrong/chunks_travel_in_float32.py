"""Chunks travel in float32.

Fails: all_gather, all_reduce
"""

LINES = {
    "all_gather": r"""
-             chunk = peer.exchange(chunk, (rank + 1) % world, (rank - 1) % world)
+             chunk = peer.exchange(chunk.float(), (rank + 1) % world, (rank - 1) % world)
""",
}
