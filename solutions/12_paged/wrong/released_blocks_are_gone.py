"""Released blocks never serve again.

Fails: blocks, sharing, scheduler
"""

LINES = {
    "BlockManager.release": r"""
-                 self._free.append(block)
""",
}
