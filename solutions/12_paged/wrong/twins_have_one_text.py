"""fork gives the child its parent's own list of tokens: both grow with either.

Fails: sharing
"""

LINES = {
    "BlockManager.fork": r"""
-         self._sequences[child] = _Sequence(list(sequence.tokens), list(sequence.table))
+         self._sequences[child] = _Sequence(sequence.tokens, list(sequence.table))
""",
}
