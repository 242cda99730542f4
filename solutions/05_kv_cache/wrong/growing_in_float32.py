"""Keeps and returns float32, whatever came.

Fails: growing
"""

LINES = {
    "GrowingCache.update": r"""
+         k, v = k.float(), v.float()
          self._keys = torch.cat([k] if self._keys is None else [self._keys, k], dim=2)
""",
}
