"""Keys and values travel in float32.

Fails: ring_attention
"""

LINES = {
    "ring_attention": r"""
-     travelling = torch.stack([k, v])
+     travelling = torch.stack([k, v]).float()
""",
}
