"""Strings are no times.

Fails: trace
"""

LINES = {
    "_timed": r"""
-             times[key] = float(text)
+             times[key] = text + 0.0
""",
}
