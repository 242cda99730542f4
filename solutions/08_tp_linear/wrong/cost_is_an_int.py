"""Nothing is 0, not 0.0.

From: variants/plain.py
Fails: cost
"""

LINES = {
    "communication_bytes": r"""
-     return elements * element_size * chunks[op] / world
+     return elements * element_size * chunks[op] / world if world > 1 else 0
""",
}
