"""PostRopeCache rotates all it has at every update, also what is rotated already.

From: variants/plain.py
Fails: caches
"""

LINES = {
    "PostRopeCache.update": r"""
-         k = rotate(k, positions, self.frequencies)
          self.stored = append(self.stored, k, v, positions)
          keys, values, places = self.stored
+         keys = rotate(keys, places, self.frequencies)
+         self.stored = keys, values, places
""",
}
