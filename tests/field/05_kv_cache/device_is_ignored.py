"""Memory is made where torch makes it, not where it was asked for.

Kind: contracts
Report: https://github.com/huggingface/transformers/issues/32624
Fails: static
"""

LINES = {
    "StaticCache.__init__": r"""
-         self._keys = torch.empty(batch, kv_heads, max_len, head_dim, dtype=dtype, device=device)
+         self._keys = torch.empty(batch, kv_heads, max_len, head_dim, dtype=dtype)
""",
}
