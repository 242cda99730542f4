"""Who has copied a block still counts as a holder: it is never free.

Fails: sharing
"""

LINES = {
    "BlockManager.append": r"""
-             self._holders[source] -= 1
""",
}
