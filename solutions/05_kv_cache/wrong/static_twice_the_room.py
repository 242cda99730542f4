"""Makes room for twice as many tokens, and counts to max_len.

Fails: static
"""

LINES = {
    "StaticCache.__init__": r"""
-         self._keys = torch.empty(batch, kv_heads, max_len, head_dim, dtype=dtype, device=device)
+         size = (batch, kv_heads, 4 * max_len, head_dim)
+         self._keys = torch.empty(size, dtype=dtype, device=device)
""",
    "StaticCache.update": r"""
-         batch, _, max_len, _ = self._keys.shape
+         batch, max_len = self._keys.shape[0], self._keys.shape[2] // 4
""",
}
