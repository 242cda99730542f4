"""Pairs are neighbours, (2i, 2i + 1), as in the RoFormer paper's text.

From: variants/plain.py
Fails: rotate, caches, attend, sink
"""

LINES = {
    "rotate": r"""
-     first, second = x.float().chunk(2, dim=-1)
-     return torch.cat((first * cos - second * sin, second * cos + first * sin), -1).to(x.dtype)
+     first, second = x.float()[..., ::2], x.float()[..., 1::2]
+     turned = torch.stack((first * cos - second * sin, second * cos + first * sin), -1)
+     return turned.flatten(-2).to(x.dtype)
""",
}
