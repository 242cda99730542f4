"""write_kv writes to a reshaped pool, which is a copy where strides are odd.

Fails: torch
"""

LINES = {
    "write_kv": r"""
-     k_pool[slots // size, slots % size] = k[real]
-     v_pool[slots // size, slots % size] = v[real]
+     k_pool.reshape(-1, *k_pool.shape[2:])[slots] = k[real]
+     v_pool.reshape(-1, *v_pool.shape[2:])[slots] = v[real]
""",
}
