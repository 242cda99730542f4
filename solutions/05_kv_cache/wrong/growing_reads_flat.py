"""Reads the heads of all sequences as one axis, which a view of a Llama cannot be.

Fails: growing
"""

LINES = {
    "GrowingCache.update": r"""
+         k, v = (x.view(-1, *x.shape[2:]).view(x.shape) for x in (k, v))
          self._keys = torch.cat([k] if self._keys is None else [self._keys, k], dim=2)
""",
}
