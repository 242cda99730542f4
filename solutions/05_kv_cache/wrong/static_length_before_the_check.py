"""Moves length before it asks whether the tokens fit.

Fails: static
"""

LINES = {
    "StaticCache.update": r"""
          end = self.length + k.shape[2]
+         start, self.length = self.length, end
...
-         self._keys[:, :, self.length : end] = k
-         self._values[:, :, self.length : end] = v
-         self.length = end
+         self._keys[:, :, start:end] = k
+         self._values[:, :, start:end] = v
""",
}
