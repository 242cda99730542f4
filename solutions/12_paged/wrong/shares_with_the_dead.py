"""Blocks of released sequences are still found.

Fails: sharing, scheduler
"""

LINES = {
    "BlockManager.release": r"""
-                 self._forget(block)
""",
}
