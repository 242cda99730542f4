"""The result is written into x, as torch's all_reduce does.

Fails: all_reduce
"""

LINES = {
    "all_reduce": r"""
-     return all_gather(peer, reduce_scatter(peer, x), len(x))
+     return x.copy_(all_gather(peer, reduce_scatter(peer, x), len(x)))
""",
}
