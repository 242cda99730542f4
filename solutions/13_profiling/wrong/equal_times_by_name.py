"""Events of one ts come by their names.

Fails: trace
"""

LINES = {
    "read_trace": r"""
-     return sorted(kept, key=lambda event: event["ts"])
+     return sorted(kept, key=lambda event: (event["ts"], event["name"]))
""",
}
