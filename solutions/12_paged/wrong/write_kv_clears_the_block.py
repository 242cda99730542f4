"""write_kv clears the blocks that it writes to.

Fails: torch
"""

LINES = {
    "write_kv": r"""
      slots, size = slots[real], k_pool.shape[1]
+     k_pool[slots // size] = 0
+     v_pool[slots // size] = 0
""",
}
