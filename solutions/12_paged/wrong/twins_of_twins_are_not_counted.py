"""fork sets the count of holders to two, however many there are.

Fails: sharing
"""

LINES = {
    "BlockManager.fork": r"""
-             self._holders[block] += 1
+             self._holders[block] = 2
""",
}
