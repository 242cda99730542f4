"""The memory is float32, whatever dtype was asked for.

Fails: static
"""

LINES = {
    "StaticCache.__init__": r"""
-         self._keys = torch.empty(batch, kv_heads, max_len, head_dim, dtype=dtype, device=device)
+         self._keys = torch.empty(batch, kv_heads, max_len, head_dim, device=device)
""",
}
