"""Leaves it to the assignment to refuse another number of sequences.

Fails: static
"""

LINES = {
    "StaticCache.update": r"""
-         batch, _, max_len, _ = self._keys.shape
+         _, _, max_len, _ = self._keys.shape
...
-         # Both are asked before anything is written. A batch of 1 would broadcast without a word.
-         if k.shape[0] != batch:
-             raise ValueError(f"batch: the cache is for {batch} sequences, not {k.shape[0]}")
""",
}
