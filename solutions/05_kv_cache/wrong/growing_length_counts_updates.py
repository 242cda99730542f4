"""length counts the updates, not the tokens.

Fails: growing
"""

LINES = {
    "GrowingCache.__init__": r"""
          self._values: Tensor | None = None
+         self.length = 0
""",
    "GrowingCache.update": r"""
+         self.length += 1
          return self._keys, self._values
""",
    "GrowingCache.rewind": r"""
-         if n > self.length:
-             raise ValueError(f"n is {n}, but the cache holds {self.length} tokens")
          if self._keys is not None and self._values is not None:
-             left = self.length - n
+             left = self._keys.shape[2] - n
+             if left < 0:
+                 raise ValueError(f"n is {n}, more tokens than there are")
+             self.length -= n
""",
}


del GrowingCache.length
