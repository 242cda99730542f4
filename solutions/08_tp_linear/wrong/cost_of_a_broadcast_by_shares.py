"""A broadcast is charged as if each rank kept a chunk.

From: variants/plain.py
Fails: cost
"""

LINES = {
    "communication_bytes": r"""
-         "broadcast": world if world > 1 else 0,
+         "broadcast": world - 1,
""",
}
