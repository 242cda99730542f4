"""Counts the room that is left on its own, and reset forgets it.

Fails: static
"""

LINES = {
    "StaticCache.__init__": r"""
          self.length = 0
+         self._room = max_len
""",
    "StaticCache.update": r"""
-         if end > max_len:
+         if k.shape[2] > self._room:
...
-         self.length = end
+         self.length, self._room = end, self._room - k.shape[2]
""",
    "StaticCache.rewind": r"""
          self.length -= n
+         self._room += n
""",
}
