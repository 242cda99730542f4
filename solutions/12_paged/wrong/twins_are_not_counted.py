"""fork counts no holder: the first release frees the blocks.

Fails: sharing
"""

LINES = {
    "BlockManager.fork": r"""
-         for block in sequence.table:
-             self._holders[block] += 1
""",
}
