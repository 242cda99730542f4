"""With one rank x itself is returned.

Fails: all_reduce
"""

LINES = {
    "all_reduce": r"""
-     return all_gather(peer, reduce_scatter(peer, x), len(x))
+     return x if peer.world == 1 else all_gather(peer, reduce_scatter(peer, x), len(x))
""",
}
