"""x is rotated in place.

From: variants/plain.py
Fails: rotate, caches, attend, sink
"""

LINES = {
    "rotate": r"""
-     return torch.cat((first * cos - second * sin, second * cos + first * sin), -1).to(x.dtype)
+     first, second = first.clone(), second.clone()
+     half = x.shape[-1] // 2
+     x[..., :half] = first * cos - second * sin
+     x[..., half:] = second * cos + first * sin
+     return x
""",
}
