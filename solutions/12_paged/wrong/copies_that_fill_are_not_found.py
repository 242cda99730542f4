"""Where the copy of a block is full at once it is not remembered.

Fails: sharing
"""

LINES = {
    "BlockManager.append": r"""
-         if len(sequence.tokens) % self.block_size == 0:
+         if len(sequence.tokens) % self.block_size == 0 and not copies:
              self._register(sequence, len(sequence.table) - 1)
""",
    "BlockManager._register": r"""
-         before = self._numbers[self._key[sequence.table[index - 1]]] if index else START
+         if index and sequence.table[index - 1] not in self._key:
+             return
+         before = self._numbers[self._key[sequence.table[index - 1]]] if index else START
""",
}
