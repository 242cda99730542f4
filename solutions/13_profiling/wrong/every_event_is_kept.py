"""Metadata, flows and counters are kept.

Fails: trace
"""

LINES = {
    "read_trace": r"""
-     kept = [_timed(event) for event in events if event.get("ph") in ("X", "i")]
+     kept = [_timed(event) for event in events if "ts" in event]
""",
}
