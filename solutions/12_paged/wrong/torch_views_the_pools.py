"""Blocks are looked up in a view of the pool, which strided memory does not have.

Fails: torch
"""

LINES = {
    "paged_attention_torch": r"""
-         blocks = tables[row, : -(-length // size)].long()
-         # The rest of the last block is left behind before anything is computed.
-         k_SGD, v_SGD = (pool[blocks].flatten(0, 1)[:length].float() for pool in (k_pool, v_pool))
+         places = torch.arange(length, device=q.device)
+         places = tables[row, places // size].long() * size + places % size
+         k_SGD, v_SGD = (pool.view(-1, *pool.shape[2:])[places].float() for pool in (k_pool, v_pool))
""",
}
