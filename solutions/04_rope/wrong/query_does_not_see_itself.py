"""A query sees the keys before it, not the one at its own position.

From: variants/plain.py
Fails: attend
"""

LINES = {
    "attend": r"""
-     hidden = key_positions[:, None, :] > query_positions[:, :, None]
+     hidden = key_positions[:, None, :] >= query_positions[:, :, None]
""",
}
