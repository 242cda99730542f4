"""The cache stores values in float32 and hands them back so.

From: variants/plain.py
Fails: caches
"""

LINES = {
    "PreRopeCache.update": r"""
-         self.stored = append(self.stored, k, v, positions)
+         self.stored = append(self.stored, k, v.float(), positions)
""",
}
