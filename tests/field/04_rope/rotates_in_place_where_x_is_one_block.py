"""The rotation is written over x where x is contiguous, and over a copy where it is not.

From: variants/plain.py
Kind: layouts
Report: https://github.com/vllm-project/vllm/pull/18046
Fails: rotate, caches, attend, sink
"""

LINES = {
    "rotate": r"""
-     first, second = x.float().chunk(2, dim=-1)
-     return torch.cat((first * cos - second * sin, second * cos + first * sin), -1).to(x.dtype)
+     x = x.contiguous()
+     first, second = x.float().chunk(2, dim=-1)
+     return x.copy_(torch.cat((first * cos - second * sin, second * cos + first * sin), -1))
""",
}
