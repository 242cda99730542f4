"""admit takes what is left and gives None then: those blocks are lost.

Fails: blocks, sharing, scheduler
"""

LINES = {
    "BlockManager.admit": r"""
          if needed > len(self._free):
+             self._free.clear()
              return None
""",
}
