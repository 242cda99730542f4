"""num_free counts a block as often as tables name it.

Fails: sharing
"""

LINES = {
    "BlockManager.num_free": r"""
-         return len(self._free)
+         return len(self._holders) - sum(len(x.table) for x in self._sequences.values())
""",
}
