"""Fakes take sizes for numbers: each one makes a graph of its own.

Fails: fake
"""

LINES = {
    "_new": r"""
-     return torch.empty(shape, dtype=like.dtype, device=like.device)
+     return torch.empty([int(size) for size in shape], dtype=like.dtype, device=like.device)
""",
}
