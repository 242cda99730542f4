"""All caches of one shape share their memory.

Fails: static
"""

LINES = {
    "": r"""
+ POOL: dict[tuple[tuple[int, ...], torch.dtype], Tensor] = {}
+
+
  class GrowingCache:
""",
    "StaticCache.__init__": r"""
-         self._keys = torch.empty(batch, kv_heads, max_len, head_dim, dtype=dtype, device=device)
-         self._values = torch.empty_like(self._keys)
+         shape = (batch, kv_heads, max_len, head_dim)
+         if (shape, dtype) not in POOL:
+             POOL[shape, dtype] = torch.empty(2, *shape, dtype=dtype, device=device)
+         self._keys, self._values = POOL[shape, dtype]
""",
}
