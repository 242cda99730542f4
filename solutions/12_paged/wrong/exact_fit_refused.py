"""admit refuses where it would need all blocks that are free.

Fails: blocks, sharing, scheduler
"""

LINES = {
    "BlockManager.admit": r"""
-         if needed > len(self._free):
+         if needed >= len(self._free):
""",
}
