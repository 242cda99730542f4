"""Times that are whole stay ints.

Fails: trace
"""

LINES = {
    "_timed": r"""
-             times[key] = float(text)
+             times[key] = text if isinstance(text, int) else float(text)
""",
}
