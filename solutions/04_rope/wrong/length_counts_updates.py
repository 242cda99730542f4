"""length counts updates, not tokens.

From: variants/plain.py
Fails: caches
"""

LINES = {
    "PostRopeCache.update": r"""
-         self.length += k.shape[2]
+         self.length += 1
""",
}
