"""admit asks for as many free blocks as if nothing were shared.

Fails: sharing, scheduler
"""

LINES = {
    "BlockManager.admit": r"""
-         if needed > len(self._free):
+         if needed + len(shared) > len(self._free):
""",
}
