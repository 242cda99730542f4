"""fork without share gives the child blocks of its own, uncopied.

Fails: sharing
"""

LINES = {
    "BlockManager.fork": r"""
-         for block in sequence.table:
+         if not self.share:
+             self.admit(child, sequence.tokens)
+             return
+         for block in sequence.table:
""",
}
