"""The length is the number of keys that are not zero: a token with a key of zeros is none.

Kind: state
Report: https://github.com/huggingface/transformers/issues/30377
Fails: static
"""

LINES = {
    "StaticCache.__init__": r"""
-         self._keys = torch.empty(batch, kv_heads, max_len, head_dim, dtype=dtype, device=device)
+         self._keys = torch.zeros(batch, kv_heads, max_len, head_dim, dtype=dtype, device=device)
...
-         self.length = 0
""",
    "StaticCache.update": r"""
-         self._values[:, :, self.length : end] = v
-         self.length = end
+         self._values[:, :, end - v.shape[2] : end] = v
""",
    "StaticCache.rewind": r"""
-         self.length -= n
+         self._keys[:, :, self.length - n :] = 0
""",
    "StaticCache.reset": r"""
-         self.length = 0
+         self._keys.zero_()
""",
}


class StaticCache:
    @property
    def length(self) -> int:
        return int(self._keys[0, 0].any(dim=-1).sum())
