"""append counts the token before it looks for a block.

Fails: blocks, sharing, scheduler
"""

LINES = {
    "BlockManager.append": r"""
          copies: list[list[int]] = []
-         if len(sequence.tokens) % self.block_size == 0:
+         sequence.tokens.append(token)
+         if len(sequence.tokens) % self.block_size == 1 % self.block_size:
...
-         sequence.tokens.append(token)
""",
}
