"""Blocks that append fills are not remembered.

Fails: sharing, scheduler
"""

LINES = {
    "BlockManager.append": r"""
-         if len(sequence.tokens) % self.block_size == 0:
-             self._register(sequence, len(sequence.table) - 1)
          return copies
""",
    "BlockManager._register": r"""
-         before = self._numbers[self._key[sequence.table[index - 1]]] if index else START
+         before = START
+         if index:
+             if sequence.table[index - 1] not in self._key:
+                 return
+             before = self._numbers[self._key[sequence.table[index - 1]]]
""",
}
