"""Fakes are float32, whatever their arguments are.

Fails: fake
"""

LINES = {
    "_new": r"""
-     return torch.empty(shape, dtype=like.dtype, device=like.device)
+     return torch.empty(shape, device=like.device)
""",
}
