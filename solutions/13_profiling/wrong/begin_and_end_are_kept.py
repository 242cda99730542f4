"""Events of ph B are taken for slices.

Fails: trace
"""

LINES = {
    "read_trace": r"""
-     kept = [_timed(event) for event in events if event.get("ph") in ("X", "i")]
+     kept = [_timed(event) for event in events if event.get("ph") in ("X", "B", "i")]
""",
}
