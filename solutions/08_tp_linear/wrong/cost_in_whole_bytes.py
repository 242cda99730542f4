"""Bytes are rounded down.

From: variants/plain.py
Fails: cost
"""

LINES = {
    "communication_bytes": r"""
-     return elements * element_size * chunks[op] / world
+     return float(elements * element_size * chunks[op] // world)
""",
}
