"""Where keys are dealt to several programs, they are joined by an lse that is rounded.

From: variants/split_keys.py
Fails: triton, speed
"""

LINES = {
    "flash_attention": r"""
-     lse = torch.empty((splits, B, H, T), dtype=torch.float32, device=q.device)
+     kept = torch.float32 if splits == 1 else q.dtype
+     lse = torch.empty((splits, B, H, T), dtype=kept, device=q.device)
...
-     return (weights[..., None] * o).sum(0).to(q.dtype), torch.logsumexp(lse, 0)
+     return (weights[..., None] * o).sum(0).to(q.dtype), torch.logsumexp(lse.float(), 0)
""",
}
