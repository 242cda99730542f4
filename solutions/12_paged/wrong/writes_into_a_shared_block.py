"""append writes into a block that another sequence holds too.

Fails: sharing
"""

LINES = {
    "BlockManager.append": r"""
-         elif self._holders[sequence.table[-1]] > 1:
-             if not self._free:
-                 return None
-             source, target = sequence.table[-1], self._take()
-             self._holders[source] -= 1
-             sequence.table[-1] = target
-             copies.append([source, target])
""",
}
