"""Refuses with a message that does not say which argument is wrong.

Fails: static
"""

LINES = {
    "StaticCache.rewind": r"""
-             raise ValueError(f"n is {n}, but the cache holds {self.length} tokens")
+             raise ValueError(f"the cache holds {self.length} tokens only")
""",
}
