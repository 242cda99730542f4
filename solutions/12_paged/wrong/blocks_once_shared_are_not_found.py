"""A block that several held when it was not full is not remembered when it is.

Fails: sharing
"""

LINES = {
    "BlockManager.__init__": r"""
          self._count = itertools.count(START + 1)
+         self._held_by_several: set[int] = set()
""",
    "BlockManager.fork": r"""
-         for block in sequence.table:
-             self._holders[block] += 1
+         for block in sequence.table:
+             self._holders[block] += 1
+         if len(sequence.tokens) % self.block_size:
+             self._held_by_several.add(sequence.table[-1])
""",
    "BlockManager._take": r"""
          self._holders[block] = 1
+         self._held_by_several.discard(block)
""",
    "BlockManager._register": r"""
-         before = self._numbers[self._key[sequence.table[index - 1]]] if index else START
+         if sequence.table[index] in self._held_by_several:
+             return
+         if index and sequence.table[index - 1] not in self._key:
+             return
+         before = self._numbers[self._key[sequence.table[index - 1]]] if index else START
""",
}
