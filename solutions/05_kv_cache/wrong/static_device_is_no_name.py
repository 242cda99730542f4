"""Asks the device for its type, which a name does not have.

Fails: static
"""

LINES = {
    "StaticCache.__init__": r"""
          # Nobody sees a position before it is written, so the memory need not be cleared.
+         pinned = device.type != "cpu" and not torch.cuda.is_available()
-         self._keys = torch.empty(batch, kv_heads, max_len, head_dim, dtype=dtype, device=device)
+         size = (batch, kv_heads, max_len, head_dim)
+         self._keys = torch.empty(size, dtype=dtype, device=device, pin_memory=pinned)
""",
}
