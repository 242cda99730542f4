"""PostRopeCache keeps the last 2048 tokens only.

From: variants/plain.py
Fails: caches
"""

LINES = {
    "PostRopeCache.update": r"""
          keys, values, places = self.stored
+         self.stored = keys, values, places = (
+             keys[:, :, -2048:],
+             values[:, :, -2048:],
+             places[:, -2048:],
+         )
""",
}
