"""What is rotated stays float32.

From: variants/plain.py
Fails: rotate, caches, sink
"""

LINES = {
    "rotate": r"""
-     return torch.cat((first * cos - second * sin, second * cos + first * sin), -1).to(x.dtype)
+     return torch.cat((first * cos - second * sin, second * cos + first * sin), -1)
""",
    "attend": r"""
-     q = rotate(q, query_positions, frequencies)
+     q = rotate(q, query_positions, frequencies).to(q.dtype)
""",
}
