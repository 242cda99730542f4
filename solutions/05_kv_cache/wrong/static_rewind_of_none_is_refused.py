"""Takes rewind(0) for a mistake.

Fails: static
"""

LINES = {
    "StaticCache.rewind": r"""
-         if n > self.length:
+         if not 0 < n <= self.length:
""",
}
