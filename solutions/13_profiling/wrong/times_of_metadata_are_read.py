"""Times of what is not kept must be numbers too.

Fails: trace
"""

LINES = {
    "read_trace": r"""
-     kept = [_timed(event) for event in events if event.get("ph") in ("X", "i")]
+     timed = [_timed(event) for event in events if "ts" in event]
+     kept = [event for event in timed if event.get("ph") in ("X", "i")]
""",
}
