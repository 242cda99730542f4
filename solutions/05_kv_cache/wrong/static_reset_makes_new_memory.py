"""reset allocates the memory anew.

Fails: static
"""

LINES = {
    "StaticCache.reset": r"""
+         self._keys = torch.empty_like(self._keys)
+         self._values = torch.empty_like(self._values)
          self.length = 0
""",
}
