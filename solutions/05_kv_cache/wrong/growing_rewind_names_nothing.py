"""Refuses with a message that does not say which argument is wrong.

Fails: growing
"""

LINES = {
    "GrowingCache.rewind": r"""
-             raise ValueError(f"n is {n}, but the cache holds {self.length} tokens")
+             raise ValueError(f"cannot drop {n} of {self.length} tokens")
""",
}
