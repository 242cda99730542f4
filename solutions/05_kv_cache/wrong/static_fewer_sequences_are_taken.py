"""Refuses more sequences than it has rows; fewer fill the first rows.

Fails: static
"""

LINES = {
    "StaticCache.update": r"""
-         if k.shape[0] != batch:
+         if k.shape[0] > batch:
...
-         self._keys[:, :, self.length : end] = k
-         self._values[:, :, self.length : end] = v
+         self._keys[: k.shape[0], :, self.length : end] = k
+         self._values[: k.shape[0], :, self.length : end] = v
""",
}
