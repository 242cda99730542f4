"""New tokens are put in front of the old ones.

From: variants/plain.py
Fails: caches
"""

LINES = {
    "PreRopeCache.update": r"""
-         self.stored = append(self.stored, k, v, positions)
+         old, self.stored = self.stored, (k, v, positions)
+         self.stored = append(self.stored, *old) if old else self.stored
""",
}
