"""Only the places up to the furthest position come back, so a value is read.

Fails: cache, step, prefill, graphs
"""

LINES = {
    "_Rows.update": r"""
-         return self._keys[self._slots], self._values[self._slots]
+         end = int(self._positions.max()) + 1
+         return self._keys[self._slots, :, :end], self._values[self._slots, :, :end]
""",
    "_forward": r"""
-     keys = torch.arange(cache.max_len, device=positions.device)
+     keys = torch.arange(int(positions.max()) + 1, device=positions.device)
""",
}
