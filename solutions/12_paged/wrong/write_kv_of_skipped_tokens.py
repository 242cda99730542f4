"""A token to be skipped is written to the last place of the pool.

Fails: torch
"""

LINES = {
    "write_kv": r"""
-     real = slots >= 0
-     slots, size = slots[real], k_pool.shape[1]
-     k_pool[slots // size, slots % size] = k[real]
-     v_pool[slots // size, slots % size] = v[real]
+     size = k_pool.shape[1]
+     k_pool[slots // size, slots % size] = k
+     v_pool[slots // size, slots % size] = v
""",
}
