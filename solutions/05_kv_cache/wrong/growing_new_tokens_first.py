"""Puts the new tokens in front of the others.

Fails: growing
"""

LINES = {
    "GrowingCache.update": r"""
-         self._keys = torch.cat([k] if self._keys is None else [self._keys, k], dim=2)
-         self._values = torch.cat([v] if self._values is None else [self._values, v], dim=2)
+         self._keys = torch.cat([k] if self._keys is None else [k, self._keys], dim=2)
+         self._values = torch.cat([v] if self._values is None else [v, self._values], dim=2)
""",
}
