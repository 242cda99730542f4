"""The rotation is written over x where x is contiguous, and over a copy where it is not.

From: variants/plain.py
Kind: layouts
Report: https://github.com/jzhang38/TinyLlama/issues/188
Fails: rope
"""

LINES = {
    "apply_rope": r"""
-     first, second = x.chunk(2, dim=-1)
+     x = x.contiguous()
+     first, second = x.chunk(2, dim=-1)
      turned = torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1)
-     return turned.to(x.dtype)
+     return x.copy_(turned)
""",
}
