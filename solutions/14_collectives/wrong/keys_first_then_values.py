"""Keys and values are two messages.

Fails: ring_attention
"""

LINES = {
    "ring_attention": r"""
-             travelling = peer.exchange(travelling, (rank + 1) % world, (rank - 1) % world)
+             to, left = (rank + 1) % world, (rank - 1) % world
+             travelling = torch.stack([peer.exchange(part, to, left) for part in travelling])
""",
}
