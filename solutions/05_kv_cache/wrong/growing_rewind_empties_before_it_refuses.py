"""Drops all tokens, and then raises.

Fails: growing
"""

LINES = {
    "GrowingCache.rewind": r"""
          if n > self.length:
+             self._keys = self._values = None
""",
}
