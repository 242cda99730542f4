"""length counts the tokens of all rows.

From: variants/plain.py
Fails: caches
"""

LINES = {
    "PreRopeCache.update": r"""
-         self.length += k.shape[2]
+         self.length += k.shape[0] * k.shape[2]
""",
}
