"""rewind shifts the tokens and leaves length as it was.

Fails: static
"""

LINES = {
    "StaticCache.rewind": r"""
-         self.length -= n
+         self._keys = self._keys.roll(n, dims=2)
+         self._values = self._values.roll(n, dims=2)
""",
}
