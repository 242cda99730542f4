"""Casts the keys alone; the memory of the values is float32.

Fails: static
"""

LINES = {
    "StaticCache.__init__": r"""
-         self._values = torch.empty_like(self._keys)
+         self._values = torch.empty_like(self._keys, dtype=torch.float32)
""",
}
