"""All rows are written at the positions of row 0.

Fails: cache, step, prefill, graphs
"""

LINES = {
    "_Rows.update": r"""
-         self._keys[rows, :, self._positions] = k.transpose(1, 2)
-         self._values[rows, :, self._positions] = v.transpose(1, 2)
+         self._keys[rows, :, self._positions[:1]] = k.transpose(1, 2)
+         self._values[rows, :, self._positions[:1]] = v.transpose(1, 2)
""",
}
