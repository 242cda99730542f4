"""Refuses the last token that would fit.

Fails: static
"""

LINES = {
    "StaticCache.update": r"""
-         if end > max_len:
+         if end >= max_len:
""",
}
