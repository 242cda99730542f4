"""A block is known by its own tokens, whatever stands before it.

Fails: sharing, scheduler
"""

LINES = {
    "BlockManager._find": r"""
-             key = number, tuple(tokens[start : start + size])
+             key = START, tuple(tokens[start : start + size])
""",
    "BlockManager._register": r"""
-         before = self._numbers[self._key[sequence.table[index - 1]]] if index else START
          start = index * self.block_size
-         key = before, tuple(sequence.tokens[start : start + self.block_size])
+         key = START, tuple(sequence.tokens[start : start + self.block_size])
""",
}
