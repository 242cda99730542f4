"""append to a shared block with no block free fails on an empty list.

Fails: sharing
"""

LINES = {
    "BlockManager.append": r"""
          elif self._holders[sequence.table[-1]] > 1:
-             if not self._free:
-                 return None
""",
}
