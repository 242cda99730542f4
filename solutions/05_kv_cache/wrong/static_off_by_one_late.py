"""Accepts one token more than fits, by cutting it off.

Fails: static
"""

LINES = {
    "StaticCache.update": r"""
-         if end > max_len:
+         if end > max_len + 1:
              raise ValueError(f"max_len is {max_len}, too small for {end} tokens")
-         self._keys[:, :, self.length : end] = k
-         self._values[:, :, self.length : end] = v
+         self._keys[:, :, self.length : end] = k[:, :, : max_len - self.length]
+         self._values[:, :, self.length : end] = v[:, :, : max_len - self.length]
""",
}
