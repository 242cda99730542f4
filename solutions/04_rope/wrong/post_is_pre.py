"""PostRopeCache stores keys as they come and rotates all of them every time.

From: variants/plain.py
Fails: caches
"""

LINES = {
    "PostRopeCache.update": r"""
-         k = rotate(k, positions, self.frequencies)
          self.stored = append(self.stored, k, v, positions)
          keys, values, places = self.stored
-         return keys, values, places, positions
+         return rotate(keys, places, self.frequencies), values, places, positions
""",
}
