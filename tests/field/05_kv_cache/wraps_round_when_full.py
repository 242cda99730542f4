"""Behind max_len a cache begins anew, and writes over its oldest tokens.

Kind: positions
Report: https://github.com/ollama/ollama/pull/14912
Fails: static
"""

LINES = {
    "StaticCache.update": r"""
-         if end > max_len:
-             raise ValueError(f"max_len is {max_len}, too small for {end} tokens")
-         self._keys[:, :, self.length : end] = k
-         self._values[:, :, self.length : end] = v
-         self.length = end
-         return self._keys[:, :, :end], self._values[:, :, :end]
+         if k.shape[2] > max_len:
+             raise ValueError(f"max_len is {max_len}, too small for {k.shape[2]} tokens")
+         places = torch.arange(self.length, end, device=k.device) % max_len
+         self._keys[:, :, places] = k.to(self._keys.dtype)
+         self._values[:, :, places] = v.to(self._keys.dtype)
+         self.length = min(end, max_len)
+         return self._keys[:, :, : self.length], self._values[:, :, : self.length]
""",
}
