"""Events are sorted by ts as text.

Fails: trace
"""

LINES = {
    "read_trace": r"""
-     return sorted(kept, key=lambda event: event["ts"])
+     return sorted(kept, key=lambda event: str(event["ts"]))
""",
}
