"""Events come as they stand in the file.

Fails: trace
"""

LINES = {
    "read_trace": r"""
-     return sorted(kept, key=lambda event: event["ts"])
+     return kept
""",
}
