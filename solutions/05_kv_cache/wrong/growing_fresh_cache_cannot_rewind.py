"""rewind asks for the shape of tensors that a fresh cache does not have.

Fails: growing
"""

LINES = {
    "GrowingCache.rewind": r"""
-         if self._keys is not None and self._values is not None:
-             left = self.length - n
-             self._keys, self._values = self._keys[:, :, :left], self._values[:, :, :left]
+         left = self.length - n
+         self._keys, self._values = self._keys[:, :, :left], self._values[:, :, :left]
""",
}
