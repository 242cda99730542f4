"""table sorts the blocks.

Fails: blocks, sharing, scheduler
"""

LINES = {
    "BlockManager.table": r"""
-         return list(self._known(seq).table)
+         return sorted(self._known(seq).table)
""",
}
