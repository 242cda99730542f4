"""The mask over ranks is used as if it were one over ids: nothing is scattered back.

Fails: filters
"""

LINES = {
    "_remove": r"""
-     removed.scatter_(-1, order, by_rank.expand_as(order))
+     removed[:] = by_rank
""",
}
