"""Blocks are counted by floor division: a last block that is not full is left out.

Fails: blocks, sharing, scheduler
"""

LINES = {
    "BlockManager.admit": r"""
-         needed = math.ceil(len(tokens) / self.block_size) - len(shared)
+         needed = len(tokens) // self.block_size - len(shared)
""",
}
