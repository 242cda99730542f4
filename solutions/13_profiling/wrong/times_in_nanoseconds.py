"""Times are divided by a thousand.

Fails: trace
"""

LINES = {
    "_timed": r"""
-             times[key] = float(text)
+             times[key] = float(text) / 1000
""",
}
