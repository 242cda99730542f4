"""rewind moves the place to write, but not length.

Fails: static
"""

LINES = {
    "StaticCache.__init__": r"""
-         self.length = 0
+         self.length = self._filled = 0
""",
    "StaticCache.update": r"""
-         end = self.length + k.shape[2]
+         end = self._filled + k.shape[2]
...
-         self._keys[:, :, self.length : end] = k
-         self._values[:, :, self.length : end] = v
-         self.length = end
+         self._keys[:, :, self._filled : end] = k
+         self._values[:, :, self._filled : end] = v
+         self.length = self._filled = end
""",
    "StaticCache.rewind": r"""
-         if n > self.length:
-             raise ValueError(f"n is {n}, but the cache holds {self.length} tokens")
-         self.length -= n
+         if n > self._filled:
+             raise ValueError(f"n is {n}, but the cache holds {self._filled} tokens")
+         self._filled -= n
""",
    "StaticCache.reset": r"""
-         self.length = 0
+         self.length = self._filled = 0
""",
}
