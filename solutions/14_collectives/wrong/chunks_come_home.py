"""Keys and values go round once more, until each is where it began.

Fails: ring_attention
"""

LINES = {
    "ring_attention": r"""
-         if step < world - 1:
+         if world > 1:
""",
}
