"""fork gives the child its parent's own table: what one appends the other has.

Fails: sharing
"""

LINES = {
    "BlockManager.fork": r"""
-         self._sequences[child] = _Sequence(list(sequence.tokens), list(sequence.table))
+         self._sequences[child] = sequence
""",
}
