"""Turns by the negative angle: a query and its key still agree.

From: variants/plain.py
Fails: rotate, caches, attend, sink
"""

LINES = {
    "rotate": r"""
-     return torch.cat((first * cos - second * sin, second * cos + first * sin), -1).to(x.dtype)
+     return torch.cat((first * cos + second * sin, second * cos - first * sin), -1).to(x.dtype)
""",
}
