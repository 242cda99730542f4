"""The result is float32, whatever q is.

Fails: ring_attention
"""

LINES = {
    "ring_attention": r"""
-     return (out / mass).reshape(heads, length, width).to(q.dtype)
+     return (out / mass).reshape(heads, length, width)
""",
}
