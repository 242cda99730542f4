"""Pairs elements 2i and 2i + 1, as in the RoPE paper, not i and i + D/2.

From: variants/plain.py
Fails: rope, model, engine
"""

LINES = {
    "apply_rope": r"""
-     first, second = x.chunk(2, dim=-1)
-     turned = torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1)
+     first, second = x[..., 0::2], x[..., 1::2]
+     turned = torch.stack((first * cos - second * sin, second * cos + first * sin), dim=-1)
+     turned = turned.flatten(-2)
""",
}
