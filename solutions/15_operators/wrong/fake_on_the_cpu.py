"""Fakes lie on the CPU, wherever their arguments do.

Fails: fake
"""

LINES = {
    "_new": r"""
-     return torch.empty(shape, dtype=like.dtype, device=like.device)
+     return torch.empty(shape, dtype=like.dtype)
""",
}
