"""A prompt that ends with a full block shares that one too: no token is left to compute.

Fails: sharing, scheduler
"""

LINES = {
    "BlockManager._find": r"""
-         last = (len(tokens) - 1) // size * size if self.share else 0
+         last = len(tokens) // size * size if self.share else 0
""",
}
