"""An event without ph is an error.

Fails: trace
"""

LINES = {
    "read_trace": r"""
-     kept = [_timed(event) for event in events if event.get("ph") in ("X", "i")]
+     kept = [_timed(event) for event in events if event["ph"] in ("X", "i")]
""",
}
