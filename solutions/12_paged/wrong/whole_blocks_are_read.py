"""A row attends to all places of its blocks.

Fails: torch
"""

LINES = {
    "paged_attention_torch": r"""
-         k_SGD, v_SGD = (pool[blocks].flatten(0, 1)[:length].float() for pool in (k_pool, v_pool))
+         k_SGD, v_SGD = (pool[blocks].flatten(0, 1).float() for pool in (k_pool, v_pool))
""",
}
