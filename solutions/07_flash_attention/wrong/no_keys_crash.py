"""Without any key there is nothing to launch, and o is never filled.

From: variants/simple.py
Fails: triton, varlen, speed
"""

LINES = {
    "flash_attention": r"""
-     o = torch.empty((B, H, T, D), dtype=q.dtype, device=q.device)
+     o = torch.ones((B, H, T, D), dtype=q.dtype, device=q.device)
      lse = torch.empty((B, H, T), dtype=torch.float32, device=q.device)
-     if o.numel() == 0:
+     if o.numel() == 0 or S == 0:
""",
    "flash_attention_varlen": r"""
-     o = torch.empty(q.shape, dtype=q.dtype, device=q.device)
+     o = torch.ones(q.shape, dtype=q.dtype, device=q.device)
      B, (_, H, D) = len(cu_seqlens_q) - 1, q.shape
-     if o.numel() == 0:
+     if o.numel() == 0 or k.numel() == 0:
""",
}
