"""lse of the PyTorch version is stored in the dtype of q.

From: variants/simple.py
Fails: tiled
"""

LINES = {
    "flash_attention_torch": r"""
-     o, lse = torch.empty_like(q), q.new_empty(B, H, T, dtype=torch.float32)
+     o, lse = torch.empty_like(q), q.new_empty(B, H, T)
""",
}
