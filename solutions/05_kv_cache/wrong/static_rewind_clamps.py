"""rewind(n) with too large an n empties the cache.

Fails: static
"""

LINES = {
    "StaticCache.rewind": r"""
-         if n > self.length:
-             raise ValueError(f"n is {n}, but the cache holds {self.length} tokens")
-         self.length -= n
+         self.length = max(0, self.length - n)
""",
}
