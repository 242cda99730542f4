"""Keys and values travel as [G, T, 2 D].

Fails: ring_attention
"""

LINES = {
    "ring_attention": r"""
-             travelling = peer.exchange(travelling, (rank + 1) % world, (rank - 1) % world)
+             both = torch.cat([*travelling], -1)
+             both = peer.exchange(both, (rank + 1) % world, (rank - 1) % world)
+             travelling = torch.stack(both.split(width, -1))
""",
}
