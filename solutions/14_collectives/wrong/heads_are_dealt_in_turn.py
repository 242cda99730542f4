"""Query head h reads key head h % G.

Fails: ring_attention
"""

LINES = {
    "ring_attention": r"""
-     queries = q.float().reshape(groups, -1, width) * width**-0.5
+     turned = q.float().unflatten(0, (-1, groups)).transpose(0, 1)
+     queries = turned.reshape(groups, -1, width) * width**-0.5
...
-     return (out / mass).reshape(heads, length, width).to(q.dtype)
+     parts = (out / mass).reshape(groups, -1, length, width).transpose(0, 1)
+     return parts.reshape(heads, length, width).to(q.dtype)
""",
}
