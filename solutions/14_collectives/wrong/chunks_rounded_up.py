"""Every chunk has n / world elements, rounded up, as torch.chunk has it: the last ones get what is left.

Fails: reduce_scatter, all_gather, all_reduce
"""

LINES = {
    "chunks": r"""
-     size, longer = divmod(n, world)
-     starts = [rank * size + min(rank, longer) for rank in range(world + 1)]
+     size = -(-n // world)
+     starts = [min(n, rank * size) for rank in range(world + 1)]
""",
}
