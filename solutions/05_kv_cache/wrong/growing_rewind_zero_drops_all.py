"""rewind cuts with a negative index, so that rewind(0) drops everything.

Fails: growing
"""

LINES = {
    "GrowingCache.rewind": r"""
-             left = self.length - n
-             self._keys, self._values = self._keys[:, :, :left], self._values[:, :, :left]
+             self._keys, self._values = self._keys[:, :, :-n], self._values[:, :, :-n]
""",
}
