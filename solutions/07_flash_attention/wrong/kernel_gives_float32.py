"""o of the kernel is float32 whatever q is.

From: variants/simple.py
Fails: triton, varlen, speed
"""

LINES = {
    "flash_attention": r"""
-     o = torch.empty((B, H, T, D), dtype=q.dtype, device=q.device)
+     o = torch.empty((B, H, T, D), dtype=torch.float32, device=q.device)
""",
    "flash_attention_varlen": r"""
-     o = torch.empty(q.shape, dtype=q.dtype, device=q.device)
+     o = torch.empty(q.shape, dtype=torch.float32, device=q.device)
""",
}
