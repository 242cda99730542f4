"""Starts with room for one token, and doubles it up to max_len.

Fails: static
"""

LINES = {
    "StaticCache.__init__": r"""
-         self._keys = torch.empty(batch, kv_heads, max_len, head_dim, dtype=dtype, device=device)
+         self._max_len = max_len
+         self._keys = torch.empty(batch, kv_heads, 1, head_dim, dtype=dtype, device=device)
""",
    "StaticCache.update": r"""
-         batch, _, max_len, _ = self._keys.shape
+         batch, groups, room, width = self._keys.shape
+         max_len = self._max_len
...
-         self._keys[:, :, self.length : end] = k
-         self._values[:, :, self.length : end] = v
+         if end > room:
+             old = self._keys, self._values
+             self._keys = old[0].new_empty(batch, groups, min(max_len, 2 * end), width)
+             self._values = torch.empty_like(self._keys)
+             self._keys[:, :, :room], self._values[:, :, :room] = old
+         self._keys[:, :, self.length : end] = k
+         self._values[:, :, self.length : end] = v
""",
}
