"""Where a block has one token, append takes it for one that was full before.

Fails: sharing, scheduler
"""

LINES = {
    "BlockManager.append": r"""
          copies: list[list[int]] = []
-         if len(sequence.tokens) % self.block_size == 0:
+         fresh = len(sequence.tokens) % self.block_size == 0
+         if fresh:
...
-         if len(sequence.tokens) % self.block_size == 0:
+         if len(sequence.tokens) % self.block_size == 0 and not fresh:
              self._register(sequence, len(sequence.table) - 1)
""",
    "BlockManager._register": r"""
-         before = self._numbers[self._key[sequence.table[index - 1]]] if index else START
+         if index and sequence.table[index - 1] not in self._key:
+             return
+         before = self._numbers[self._key[sequence.table[index - 1]]] if index else START
""",
}
