"""Sees x as [B * H, T, D], which a transposed tensor cannot be.

From: variants/plain.py
Fails: rotate, caches, attend
"""

LINES = {
    "rotate": r"""
-     first, second = x.float().chunk(2, dim=-1)
+     first, second = x.view(-1, *x.shape[2:]).view(x.shape).float().chunk(2, dim=-1)
""",
}
