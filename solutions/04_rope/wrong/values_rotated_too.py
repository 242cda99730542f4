"""Values are rotated like keys.

From: variants/plain.py
Fails: caches
"""

LINES = {
    "PostRopeCache.update": r"""
          k = rotate(k, positions, self.frequencies)
+         v = rotate(v, positions, self.frequencies)
""",
}
