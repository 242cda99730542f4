"""A row attends to all places of its blocks.

Fails: torch
"""

LINES = {
    "paged_attention_torch": r"""
-         keys, values = (pool[blocks].flatten(0, 1)[:length].float() for pool in (k_pool, v_pool))
+         keys, values = (pool[blocks].flatten(0, 1).float() for pool in (k_pool, v_pool))
""",
}
