"""The chunk of step s is taken for one that set out s ranks to the right.

Fails: ring_attention
"""

LINES = {
    "ring_attention": r"""
-         source = (rank - step) % world
+         source = (rank + step) % world
""",
}
