"""Chunks that the ranks do not divide are padded.

From: variants/plain.py
Fails: cost
"""

LINES = {
    "communication_bytes": r"""
-     return elements * element_size * chunks[op] / world
+     return float(-(-elements // world) * element_size * chunks[op])
""",
}
