"""Every chunk has n // world elements: what does not divide belongs to nobody.

Fails: reduce_scatter, all_gather, all_reduce
"""

LINES = {
    "chunks": r"""
-     size, longer = divmod(n, world)
-     starts = [rank * size + min(rank, longer) for rank in range(world + 1)]
+     starts = [rank * (n // world) for rank in range(world + 1)]
""",
}
