"""The queries are joined at the end: without any there is nothing to join.

From: variants/simple.py
Fails: tiled
"""

LINES = {
    "flash_attention_torch": r"""
-     o, lse = torch.empty_like(q), q.new_empty(B, H, T, dtype=torch.float32)
+     o, lse = torch.empty_like(q), q.new_empty(B, H, T, dtype=torch.float32)
+     torch.cat([q[:, :, i : i + block] for i in range(0, T, block)], 2)
""",
}
