"""Elements are counted, not bytes.

From: variants/plain.py
Fails: cost
"""

LINES = {
    "communication_bytes": r"""
-     return elements * element_size * chunks[op] / world
+     return elements * 4 * chunks[op] / world
""",
}
