"""Every rank takes its part for the first one.

Fails: vocabulary
"""

LINES = {
    "_local": r"""
-     local = ids - start
+     local = ids
""",
}
