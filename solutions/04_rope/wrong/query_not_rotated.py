"""q is not rotated.

From: variants/plain.py
Fails: attend
"""

LINES = {
    "attend": r"""
-     q = rotate(q, query_positions, frequencies)
      grouped = q.unflatten(1, (keys.shape[1], -1))
""",
}
