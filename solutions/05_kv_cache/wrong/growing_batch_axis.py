"""Concatenates along the axis of sequences.

Fails: growing
"""

LINES = {
    "GrowingCache.update": r"""
-         self._keys = torch.cat([k] if self._keys is None else [self._keys, k], dim=2)
-         self._values = torch.cat([v] if self._values is None else [self._values, v], dim=2)
+         self._keys = torch.cat([k] if self._keys is None else [self._keys, k], dim=0)
+         self._values = torch.cat([v] if self._values is None else [self._values, v], dim=0)
""",
}
