"""Times are shifted to begin at 0.

Fails: trace
"""

LINES = {
    "read_trace": r"""
-     return sorted(kept, key=lambda event: event["ts"])
+     first = min((event["ts"] for event in kept), default=0.0)
+     kept = [event | {"ts": event["ts"] - first} for event in kept]
+     return sorted(kept, key=lambda event: event["ts"])
""",
}
