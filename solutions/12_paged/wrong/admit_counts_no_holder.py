"""admit shares blocks without counting itself: the first release frees them.

Fails: sharing, scheduler
"""

LINES = {
    "BlockManager.admit": r"""
-         for block in shared:
-             self._holders[block] += 1
""",
}
