"""Ids below the rank's part look up rows from its end.

Fails: vocabulary
"""

LINES = {
    "_local": r"""
-     own = (local >= 0) & (local < size)
+     own = (local >= -size) & (local < size)
""",
}
