"""write_kv takes a slot for offset * N + block.

Fails: torch
"""

LINES = {
    "write_kv": r"""
-     slots, size = slots[real], k_pool.shape[1]
-     k_pool[slots // size, slots % size] = k[real]
-     v_pool[slots // size, slots % size] = v[real]
+     slots, count = slots[real], k_pool.shape[0]
+     k_pool[slots % count, slots // count] = k[real]
+     v_pool[slots % count, slots // count] = v[real]
""",
}
