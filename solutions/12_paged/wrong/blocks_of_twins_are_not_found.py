"""What a forked sequence appends is not remembered.

Fails: sharing
"""

LINES = {
    "_Sequence": r"""
      table: list[int]
+     twin: bool = False
""",
    "BlockManager.fork": r"""
-         self._sequences[child] = _Sequence(list(sequence.tokens), list(sequence.table))
+         self._sequences[child] = _Sequence(list(sequence.tokens), list(sequence.table), True)
""",
    "BlockManager._register": r"""
-         if not self.share:
+         if not self.share or sequence.twin:
""",
}
