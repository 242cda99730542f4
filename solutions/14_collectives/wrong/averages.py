"""The sum is divided by the number of ranks.

Fails: all_reduce
"""

LINES = {
    "all_reduce": r"""
-     return all_gather(peer, reduce_scatter(peer, x), len(x))
+     total = all_gather(peer, reduce_scatter(peer, x), len(x))
+     return (total / peer.world).to(x.dtype)
""",
}
