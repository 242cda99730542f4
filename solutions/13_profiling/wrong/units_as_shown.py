"""Times are taken for milliseconds where these are to be shown.

Fails: trace
"""

LINES = {
    "read_trace": r"""
-     kept = [_timed(event) for event in events if event.get("ph") in ("X", "i")]
+     kept = [_timed(event) for event in events if event.get("ph") in ("X", "i")]
+     if isinstance(trace, dict) and trace.get("displayTimeUnit") == "ms":
+         kept = [event | {"dur": event["dur"] * 1000} for event in kept]
""",
}
