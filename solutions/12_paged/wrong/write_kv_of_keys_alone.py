"""write_kv writes keys to both pools.

Fails: torch
"""

LINES = {
    "write_kv": r"""
-     v_pool[slots // size, slots % size] = v[real]
+     v_pool[slots // size, slots % size] = k[real]
""",
}
