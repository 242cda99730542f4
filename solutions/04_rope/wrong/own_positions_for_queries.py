"""q is rotated by the positions that attend was called with.

From: variants/plain.py
Fails: attend
"""

LINES = {
    "attend": r"""
-     q = rotate(q, query_positions, frequencies)
+     q = rotate(q, positions, frequencies)
""",
}
