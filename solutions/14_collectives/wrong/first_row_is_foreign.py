"""The first id of the rank's part counts as foreign.

Fails: vocabulary
"""

LINES = {
    "_local": r"""
-     own = (local >= 0) & (local < size)
+     own = (local > 0) & (local < size)
""",
}
