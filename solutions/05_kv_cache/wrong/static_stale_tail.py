"""update returns everything up to the longest length there was.

Fails: static
"""

LINES = {
    "StaticCache.__init__": r"""
-         self.length = 0
+         self.length = self._most = 0
""",
    "StaticCache.update": r"""
-         return self._keys[:, :, :end], self._values[:, :, :end]
+         self._most = max(self._most, end)
+         return self._keys[:, :, : self._most], self._values[:, :, : self._most]
""",
}
