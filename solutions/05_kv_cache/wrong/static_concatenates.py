"""Joins old and new tokens in new memory and only checks max_len.

Fails: static
"""

LINES = {
    "StaticCache": r"""
-         self._keys = torch.empty(batch, kv_heads, max_len, head_dim, dtype=dtype, device=device)
+         self._size = batch, max_len
+         self._keys = torch.empty(batch, kv_heads, 0, head_dim, dtype=dtype, device=device)
          self._values = torch.empty_like(self._keys)
-         self.length = 0
+
+     @property
+     def length(self) -> int:
+         return self._keys.shape[2]
""",
    "StaticCache.update": r"""
-         batch, _, max_len, _ = self._keys.shape
-         end = self.length + k.shape[2]
+         batch, max_len = self._size
...
-         if end > max_len:
-             raise ValueError(f"max_len is {max_len}, too small for {end} tokens")
-         self._keys[:, :, self.length : end] = k
-         self._values[:, :, self.length : end] = v
-         self.length = end
-         return self._keys[:, :, :end], self._values[:, :, :end]
+         if self.length + k.shape[2] > max_len:
+             raise ValueError(f"max_len is {max_len}, too small for {k.shape[2]} more tokens")
+         self._keys = torch.cat([self._keys, k.to(self._keys.dtype)], dim=2)
+         self._values = torch.cat([self._values, v.to(self._values.dtype)], dim=2)
+         return self._keys, self._values
""",
    "StaticCache.rewind": r"""
-         self.length -= n
+         left = self.length - n
+         self._keys, self._values = self._keys[:, :, :left], self._values[:, :, :left]
""",
    "StaticCache.reset": r"""
-         self.length = 0
+         self.rewind(self.length)
""",
}
