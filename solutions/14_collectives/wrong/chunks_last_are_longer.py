"""The last n % world chunks are one longer, not the first.

Fails: reduce_scatter, all_gather, all_reduce
"""

LINES = {
    "chunks": r"""
-     starts = [rank * size + min(rank, longer) for rank in range(world + 1)]
+     starts = [rank * size + max(0, rank - world + longer) for rank in range(world + 1)]
""",
}
