"""A chunk is given by start and length.

Fails: reduce_scatter, all_gather, all_reduce
"""

LINES = {
    "chunks": r"""
-     return [list(pair) for pair in pairwise(starts)]
+     return [[start, stop - start] for start, stop in pairwise(starts)]
""",
}
