"""Values travel before keys.

Fails: ring_attention
"""

LINES = {
    "ring_attention": r"""
-     travelling = torch.stack([k, v])
+     travelling = torch.stack([v, k])
...
-             keys, values = travelling.float()
+             values, keys = travelling.float()
""",
}
