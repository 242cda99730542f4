"""fork shares full blocks alone; the child's last tokens get no block.

Fails: sharing
"""

LINES = {
    "BlockManager.fork": r"""
-         for block in sequence.table:
+         full = sequence.table[: len(sequence.tokens) // self.block_size]
+         for block in full:
              self._holders[block] += 1
-         self._sequences[child] = _Sequence(list(sequence.tokens), list(sequence.table))
+         self._sequences[child] = _Sequence(list(sequence.tokens), full)
""",
}
