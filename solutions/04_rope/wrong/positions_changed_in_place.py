"""PreRopeCache counts positions from its first token, in the caller's tensor.

From: variants/plain.py
Fails: caches
"""

LINES = {
    "PreRopeCache.update": r"""
          self.length += k.shape[2]
+         start = positions[:, :1].clone()
+         positions -= start
+         self.stored = append(self.stored, k, v, positions + start)
...
-         self.stored = append(self.stored, k, v, positions)
          keys, values, places = self.stored
-         return rotate(keys, places, self.frequencies), values, places, positions
+         return rotate(keys, places, self.frequencies), values, places, positions + start
""",
}
