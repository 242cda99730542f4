"""float() is no copy where q is float32: the caller's own queries are scaled.

From: variants/simple.py
Fails: tiled
"""

LINES = {
    "flash_attention_torch": r"""
      B, H, T, D = q.shape
+     q = q.float()
+     q *= D**-0.5
...
-     o, lse = torch.empty_like(q), q.new_empty(B, H, T, dtype=torch.float32)
+     o, lse = q.new_empty(B, H, T, D, dtype=k.dtype), q.new_empty(B, H, T, dtype=torch.float32)
...
-         rows = grouped[..., i : i + block, :].float() * D**-0.5
+         rows = grouped[..., i : i + block, :]
""",
}
