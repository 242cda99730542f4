"""o of the PyTorch version is float32 whatever q is.

From: variants/simple.py
Fails: tiled
"""

LINES = {
    "flash_attention_torch": r"""
-     o, lse = torch.empty_like(q), q.new_empty(B, H, T, dtype=torch.float32)
+     o, lse = (q.new_empty(*shape, dtype=torch.float32) for shape in (q.shape, q.shape[:3]))
""",
}
