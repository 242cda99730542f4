"""torch gathers the blocks of all rows, and the kernel reads them in order.

Fails: triton, speed
"""

LINES = {
    "paged_attention": r"""
-     o = torch.empty(q.shape, dtype=q.dtype, device=q.device)
+     blocks = tables.clamp(0, len(k_pool) - 1).long().flatten()
+     k_pool, v_pool = k_pool[blocks], v_pool[blocks]
+     tables = torch.arange(len(blocks), dtype=torch.int32, device=q.device).view(tables.shape)
+     o = torch.empty(q.shape, dtype=q.dtype, device=q.device)
""",
}
