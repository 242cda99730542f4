"""Leading blocks are shared without share too.

Fails: blocks, scheduler
"""

LINES = {
    "BlockManager._find": r"""
-         last = (len(tokens) - 1) // size * size if self.share else 0
+         last = (len(tokens) - 1) // size * size
""",
    "BlockManager._register": r"""
-         if not self.share:
-             return
""",
}
