"""Blocks are looked up in a view of the pool, which strided memory does not have.

Fails: torch
"""

LINES = {
    "paged_attention_torch": r"""
-         blocks = tables[row, : -(-length // size)].long()
-         # [S, G, D] each; the rest of the last block is left behind before anything is computed
-         keys, values = (pool[blocks].flatten(0, 1)[:length].float() for pool in (k_pool, v_pool))
+         places = torch.arange(length, device=q.device)
+         places = tables[row, places // size].long() * size + places % size
+         keys, values = (pool.view(-1, *pool.shape[2:])[places].float() for pool in (k_pool, v_pool))
""",
}
