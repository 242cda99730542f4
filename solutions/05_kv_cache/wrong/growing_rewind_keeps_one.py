"""Refuses to drop the only token that is left.

Fails: growing
"""

LINES = {
    "GrowingCache.rewind": r"""
-         if n > self.length:
+         if n and n >= self.length:
""",
}
