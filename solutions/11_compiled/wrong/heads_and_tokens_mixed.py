"""A chunk's axes are reshaped, not transposed, which one token does not show.

Fails: cache, step, prefill, graphs
"""

LINES = {
    "_Rows.update": r"""
-         self._keys[rows, :, self._positions] = k.transpose(1, 2)
-         self._values[rows, :, self._positions] = v.transpose(1, 2)
+         shape = k.shape[0], k.shape[2], k.shape[1], k.shape[3]
+         self._keys[rows, :, self._positions] = k.reshape(shape)
+         self._values[rows, :, self._positions] = v.reshape(shape)
""",
}
