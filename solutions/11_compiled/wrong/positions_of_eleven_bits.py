"""Positions go round after 2048.

Fails: cache, step
"""

LINES = {
    "StaticCache.layers": r"""
-         pairs = zip(self.keys, self.values, strict=True)
+         positions = positions % 2048
+         pairs = zip(self.keys, self.values, strict=True)
""",
}
