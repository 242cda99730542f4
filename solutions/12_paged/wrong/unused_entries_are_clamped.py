"""Unused entries are taken for the nearest block, and the whole table is attended to.

Fails: torch
"""

LINES = {
    "paged_attention_torch": r"""
-         blocks = tables[row, : -(-length // size)].long()
+         blocks = tables[row].long().clamp(0, len(k_pool) - 1)
...
-         keys, values = (pool[blocks].flatten(0, 1)[:length].float() for pool in (k_pool, v_pool))
+         keys, values = (pool[blocks].flatten(0, 1).float() for pool in (k_pool, v_pool))
""",
}
