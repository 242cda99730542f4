"""Only the first block is looked for.

Fails: sharing, scheduler
"""

LINES = {
    "BlockManager._find": r"""
-         last = (len(tokens) - 1) // size * size if self.share else 0
+         last = min((len(tokens) - 1) // size, 1) * size if self.share else 0
""",
}
