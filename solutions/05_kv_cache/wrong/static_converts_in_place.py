"""Converts the caller's own tensors.

Fails: static
"""

LINES = {
    "StaticCache.update": r"""
+         k.data, v.data = k.data.to(self._keys.dtype), v.data.to(self._keys.dtype)
          batch, _, max_len, _ = self._keys.shape
""",
}
