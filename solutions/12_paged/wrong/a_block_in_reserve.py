"""Every sequence gets a block in reserve where its last one is full.

Fails: blocks, sharing, scheduler
"""

LINES = {
    "BlockManager.admit": r"""
-         needed = math.ceil(len(tokens) / self.block_size) - len(shared)
+         needed = len(tokens) // self.block_size + 1 - len(shared)
""",
    "BlockManager.append": r"""
          if len(sequence.tokens) % self.block_size == 0:
              if not self._free:
                  return None
-             sequence.table.append(self._take())
+             if len(sequence.table) * self.block_size == len(sequence.tokens):
+                 sequence.table.append(self._take())
""",
}
