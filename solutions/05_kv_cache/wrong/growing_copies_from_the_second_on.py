"""Copies all but what comes first in a cache that was emptied.

Fails: growing
"""

LINES = {
    "GrowingCache.update": r"""
-         self._keys = torch.cat([k] if self._keys is None else [self._keys, k], dim=2)
-         self._values = torch.cat([v] if self._values is None else [self._values, v], dim=2)
+         if self.length == 0:
+             self._keys, self._values = k, v
+         else:
+             self._keys = torch.cat([self._keys, k], dim=2)
+             self._values = torch.cat([self._values, v], dim=2)
""",
}
